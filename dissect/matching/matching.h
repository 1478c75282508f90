// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dissect/matching/directions.h"

namespace lw::dissect {

/// A frame that both points saw: its order at each.
struct Match {
  std::uint32_t near;
  std::uint32_t far : 29;
  std::uint32_t goes_far : 1;  // from near to far
  std::uint32_t certain : 1;   // no other frame could be the match instead: its delay is usable
  std::uint32_t changed : 1;   // bytes differ that no router changes

  /// Its order where it was sent, and where it came.
  [[nodiscard]] std::uint32_t sent() const noexcept { return goes_far ? near : far; }
  [[nodiscard]] std::uint32_t came() const noexcept { return goes_far ? far : near; }
};
static_assert(sizeof(Match) == 8);
inline Match match_of(std::uint32_t near, std::uint32_t far, bool goes_far, bool certain,
                      bool changed) noexcept {
  return {near, far & (std::uint32_t{kMostRecords} - 1), goes_far, certain, changed};
}

/// A frame without a match.
struct Unmatched {
  std::uint32_t order;  // at its point
  bool at_far;
  bool goes_far;
  bool copy;  // a further copy of a frame that the other point saw
  [[nodiscard]] bool at_receiver() const noexcept { return at_far == goes_far; }
};

/// The pairs of equal frames at two points, and the direction of each frame.
struct Matching {
  std::vector<Match> matches;  // by order at near
  std::vector<Unmatched> unmatched;
  std::uint64_t forgotten_flows = 0;
  /// Matched frames of two opposite address pairs go the same way: a capture of both directions
  /// was replayed in one, or the clocks don't agree.
  bool one_way = false;
};

/// Matches the frames of two points of a path.
///
/// Equal frames are matched one to one, each with one that was sent a usual delay before. If no
/// usual delay is known, the k-th frame here matches the k-th there. Further frames at the
/// receiver's point are copies. Then changed frames are matched, which only one point saw: frames
/// with one ICRC and length; frames of one flow, PSN and opcode; frames that are equal from the BTH
/// on; and frames of one length that came when the other was due, if one of destination QP, PSN,
/// opcode and the rest is equal (without a bad ICRC: half of them).
///
/// For the direction of each flow see `directions.h`.
Matching match_frames(Records near, Records far, const FlowNames& flows, Senders senders);

}  // namespace lw::dissect
