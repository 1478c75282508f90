// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "capture/record.h"

namespace lw::capture {

/// A frame's place in a file, without its bytes.
struct FrameHead {
  std::int64_t ns = 0;  // since 1970
  std::uint32_t captured = 0, wire_length = 0;
  std::uint32_t interface = 0;
};

/// Frames of an interface until `ns`, as its statistics block has them.
struct InterfaceStatistics {
  std::uint32_t interface = 0;
  std::int64_t ns = 0;
  std::uint64_t received = 0, dropped = 0;
};

/// These append to `out` in this machine's byte order.
///
/// A pcapng record is a head, its bytes, and an end with the padding and the comment; a pcap record
/// is a head and its bytes.
void put_pcapng_start(std::string& out, std::span<const Interface> interfaces);
void put_pcapng_head(std::string& out, const FrameHead& frame, std::string_view comment);
void put_pcapng_end(std::string& out, const FrameHead& frame, std::string_view comment);
void put_pcapng_statistics(std::string& out, const InterfaceStatistics& statistics);

void put_pcap_start(std::string& out, const Interface& interface, bool nanoseconds);
void put_pcap_head(std::string& out, const FrameHead& frame, bool nanoseconds);

/// Sizes in bytes: of a pcapng record, of a pcap record's head, of a statistics block.
std::uint32_t packet_size(const FrameHead& frame, std::string_view comment) noexcept;
inline constexpr std::size_t kPcapHead = 16;
inline constexpr std::size_t kStatisticsSize = 52;

}  // namespace lw::capture
