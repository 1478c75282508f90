// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
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

// Of a normal variable 7 in 10^6 lie further out.
inline constexpr double kDeviations = 4.5;
// -ln of half of 10^-5: what either end of a bound by exponential moments may be exceeded with.
inline constexpr double kUnlikely = 12.2061;

/// A share of `frames` whose count has this variance, each event counting up to `most`
/// (Bernstein's bound, which holds for few events, too).
Check share(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
            double asked, double variance, double most = 1);

/// Each frame independently, with this probability. Few of them, or ends of the scale, have
/// Chernoff's bound, which is narrower there: what is asked always, or never, must be so.
Check binomial(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
               double asked);

/// Each frame independently, with its own probability: their sum, and the sum of p (1 - p).
Check poisson_binomial(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
                       double expected, double variance);

/// Counts of a distribution's bins against their probabilities, which sum up to 1 (Pearson). Bins
/// in which less than five are expected are taken together with their neighbours.
Check chi_square(Stage stage, std::string_view what, std::span<const std::uint64_t> counts,
                 std::span<const double> probabilities);

}  // namespace lw::emulator
