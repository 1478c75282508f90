// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lw::config {

class Table;
struct Flow;

/// A deliberate fault of a frame. Everything else in the frame is correct: lengths, checksums and
/// the ICRC match the frame as sent, unless they are the fault.
enum class FaultKind : std::uint8_t {
  bad_icrc,              // all ICRC bits inverted; the FCS is correct
  wrong_pad_count,       // PadCnt + 1 modulo 4; the pad is unchanged
  wrong_tver,            // TVer 1
  bad_p_key,             // lowest P_Key bit inverted
  wrong_udp_length,      // UDP length 4 bytes more than IP allows
  truncated_bth,         // the packet ends after 8 bytes of BTH
  psn_gap,               // one PSN is skipped before this frame
  duplicate_psn,         // the previous frame's PSN; the next PSN follows it
  first_after_first,     // an open message starts again with its FIRST
  middle_without_first,  // an extra MIDDLE before a message's first packet
  short_middle,          // a MIDDLE with 4 bytes less than the MTU
};
inline constexpr std::size_t kFaultKinds = 11;

/// Name in profiles and reports: "bad_icrc".
std::string_view name_of(FaultKind kind) noexcept;

/// A fault and the frames that get it: a share of the eligible frames, or a list.
struct Fault {
  FaultKind kind{};
  double rate = 0;  // share, 0 to 1
  /// Frame numbers of the QP, from 0, ascending. If a frame can't have the fault (a SEND ONLY is
  /// no MIDDLE) or already has another, the next eligible frame gets it.
  std::vector<std::uint64_t> frames;
};

/// Reads `[[flow.fault]]` into `flow`. Errors are recorded in the document.
void read_faults(const Table& table, Flow& flow);

}  // namespace lw::config
