// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "emulator/rule_config.h"
#include "emulator/stats/rule_stats.h"

namespace lw::emulator {

/// What a check's figures are.
enum class Figure : std::uint8_t {
  share,   // of frames
  frames,  // in a row
  nanoseconds,
  bits_per_second,
  bytes,
  chi_square,  // of a distribution's bins; asked: the degrees of freedom
};

/// What a stage did, held against its own parameters.
struct Check {
  Stage stage = Stage::none;
  std::string_view what;     // "lost", "mean burst": with the stage's name it is one of its kind
  std::uint64_t frames = 0;  // over which it was seen
  double asked = 0, seen = 0;
  /// `seen` lies between these but for chance: outside once in 10^5 runs.
  double low = 0, high = 0;
  Figure figure = Figure::share;

  [[nodiscard]] bool holds() const noexcept { return seen >= low && seen <= high; }
};

/// A rule's stages against what they were asked for: shares of frames, lengths of bursts, delays
/// and how they are distributed, what a policer and a queue let through. `stats` are those of a
/// rule of this configuration. A trace's delays are added, not drawn: there is nothing to be held
/// against.
std::vector<Check> audit(const RuleConfig& config, const RuleStats& stats);

}  // namespace lw::emulator
