// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <set>

#include "dissect/matching/equal_frames.h"
#include "dissect/matching/match_keys.h"
#include "dissect/matching/matching.h"

namespace lw::dissect {

/// The frames of two points while they are matched.
struct MatchState {
  Records near, far;
  const FlowNames& flows;
  Matching result = {};
  /// Delays to near and to far: of frames without an equal one; without the longest twentieth.
  DelayRange usual[2] = {}, typical[2] = {};
  std::set<std::uint32_t> late_copies[2] = {};  // at near, at far: without a match so far

  [[nodiscard]] Records senders(bool goes_far) const { return goes_far ? near : far; }
  [[nodiscard]] Records receivers(bool goes_far) const { return goes_far ? far : near; }

  /// Matches frames that look alike, or that one change made different (`changed`), and adds those
  /// without a match. `usual`: the delays that they may have.
  void match_alike(MatchKeys sent, MatchKeys came, bool goes_far, bool changed,
                   const DelayRange& usual);
};

/// The stamps of these frames.
std::vector<std::int64_t> stamps_of(MatchKeys keys, Records records);

}  // namespace lw::dissect
