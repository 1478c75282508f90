// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dissect/compare/directions.h"

namespace lw::dissect {

/// A frame that both points saw, by its order at each.
struct Match {
  std::uint32_t near, far;
  bool goes_far;  // from near to far
  bool certain;   // no other frame could be the match instead: its delay is usable
  bool changed;   // bytes differ that no router changes
};

/// A frame that has no match.
struct Unmatched {
  std::uint32_t order;  // at its point
  bool at_far;
  bool goes_far;
  bool copy;  // a further copy of a frame that the other point saw
  [[nodiscard]] bool at_receiver() const noexcept { return at_far == goes_far; }
};

/// Which frames of two points are the same, and which way each goes.
struct Matching {
  std::vector<Match> matches;
  std::vector<Unmatched> unmatched;
  std::uint64_t forgotten_flows = 0;
  /// Matched frames of two opposite address pairs go the same way: a capture of both directions
  /// was replayed in one, or the clocks don't agree.
  bool one_way = false;
};

/// Matches the frames of two points of a path.
///
/// Equal frames are matched one to one, each with one that was sent a usual delay before; where no
/// delay is usual, the k-th here with the k-th there. What the receiver's point has beyond that is
/// a copy. Then frames that were changed are matched, of those that one point saw: frames with one
/// ICRC and length; of one flow, PSN and opcode; frames that are equal from the BTH on; and frames
/// of one length that came when the other was due, if one of destination QP, PSN, opcode and the
/// rest is equal (without a bad ICRC: half of them).
///
/// Each flow's direction is that of `directions.h`.
Matching match_frames(Records near, Records far, const FlowNames& flows, Senders senders);

}  // namespace lw::dissect
