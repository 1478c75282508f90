// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lw::config {

/// What can be wrong with a frame on purpose. Whatever it is, nothing else is: lengths, checksums
/// and the ICRC fit the frame as it is sent, but where they are the fault.
enum class FaultKind : std::uint8_t {
  bad_icrc,              // every bit of it inverted; the FCS is right
  wrong_pad_count,       // PadCnt one more, modulo 4, than the pad that is there
  wrong_tver,            // TVer 1
  bad_p_key,             // another partition: the key's lowest bit inverted
  wrong_udp_length,      // UDP says four bytes more than IP
  truncated_bth,         // the packet ends after 8 bytes of BTH
  psn_gap,               // one PSN is left out before this frame
  duplicate_psn,         // the PSN of the frame before; PSNs go on from there
  first_after_first,     // an open message begins again, with its FIRST
  middle_without_first,  // a MIDDLE more, before a message's first packet
  short_middle,          // a MIDDLE of the MTU less 4 bytes
};
inline constexpr std::size_t kFaultKinds = 11;

/// "bad_icrc": as profiles and reports say it.
std::string_view name_of(FaultKind kind) noexcept;

/// A fault and the frames that have it: a share of those that can, or exact ones.
struct Fault {
  FaultKind kind{};
  double rate = 0;
  /// Numbers of the QP's frames, from 0, rising. One that can't have the fault (a SEND ONLY is no
  /// MIDDLE), or has another, leaves it to the next that can.
  std::vector<std::uint64_t> frames;
};

}  // namespace lw::config
