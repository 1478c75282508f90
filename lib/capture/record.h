// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/time.h"

namespace lw::capture {

using Bytes = std::span<const std::byte>;

// LINKTYPE numbers, as files hold them. (https://www.tcpdump.org/linktypes.html)
inline constexpr int kLinkTypeEthernet = 1;
inline constexpr int kLinkTypeRaw = 101;  // IPv4 or IPv6, by the version field
inline constexpr int kLinkTypeLinuxSll = 113;
inline constexpr int kLinkTypeErf = 197;  // Endace
inline constexpr int kLinkTypeIpv4 = 228;
inline constexpr int kLinkTypeIpv6 = 229;
inline constexpr int kLinkTypeLinuxSll2 = 276;

/// An interface that frames were captured on. A pcap file has one, without a name.
struct Interface {
  int link_type = kLinkTypeEthernet;
  std::uint32_t snap_length = 262144;  // captured bytes per frame at most; 0: all
  std::string name = {};
  /// Bytes of the frame check sequence behind each frame, as a pcap file states them; 0: not
  /// stated.
  std::uint8_t fcs_bytes = 0;
  /// Bits per second, as a pcapng file states them (if_speed); 0: not stated.
  std::uint64_t speed = 0;
  // Frames that the capturing lost, as the file says: by its statistics so far, and by its frames.
  std::uint64_t dropped_by_statistics = 0, dropped_between = 0;

  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return std::max(dropped_by_statistics, dropped_between);
  }
};

/// Names of the interfaces in a recording of roce-impair: the frames of each direction as they came
/// in, and as they left.
inline constexpr std::string_view kRecordingInterfaces[] = {"west-to-east in", "west-to-east out",
                                                            "east-to-west in", "east-to-west out"};

/// A captured frame. `bytes` and `comment` live until the reader's next next().
struct Record {
  Bytes bytes;
  std::uint32_t wire_length = 0;  // >= bytes.size(); larger if the capture truncated the frame
  Instant stamp;                  // ns since 1970; 0 if the record has no time
  std::uint32_t interface = 0;    // index into Reader::interfaces()
  std::uint64_t offset = 0;       // offset of the record (its header or block) in the file
  std::string_view comment = {};  // the first comment; empty in pcap files
  int inner_link_type = 0;        // of `bytes`, where it isn't the interface's (ERF); 0: it is
};

using lw::stamp_difference;

/// Largest valid record; a longer one means a damaged file.
inline constexpr std::uint32_t kMaxRecord = 256u << 20;

}  // namespace lw::capture
