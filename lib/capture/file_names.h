// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lw::capture {

enum class Format : std::uint8_t {
  pcap,     // nanosecond stamps
  pcap_us,  // microsecond stamps, for old readers
  pcapng,   // nanosecond stamps, several interfaces, comments
};

/// Returns pcapng for a name that ends in .pcapng or .pcapng.zst, otherwise pcap.
Format format_for(std::string_view path) noexcept;

/// True if the file is compressed: its name ends in .zst.
bool is_packed(std::string_view path) noexcept;

/// The name of the file with this number, from 1, of a capture in several files:
/// "run.pcapng.zst" becomes "run-00001.pcapng.zst".
std::string numbered_name(std::string_view path, std::uint64_t number);

}  // namespace lw::capture
