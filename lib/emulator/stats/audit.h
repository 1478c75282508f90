// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/rule_config.h"
#include "emulator/stats/rule_stats.h"

namespace lw::emulator {

/// The unit of a check's figures.
enum class CheckUnit : std::uint8_t {
  share,   // of frames
  frames,  // of consecutive frames
  nanoseconds,
  bits_per_second,
  bytes,
  chi_square,  // of a distribution's bins; `asked` is the degrees of freedom
};
/// "share", "frames", "ns", "bits/s", "bytes" or "chi-square".
std::string_view name_of(CheckUnit unit) noexcept;

/// One comparison of what a stage did with its parameters.
struct Check {
  Stage stage = Stage::none;
  std::string_view what;     // "lost", "mean burst"; unique within a stage
  std::uint64_t frames = 0;  // number of frames that `seen` was measured over
  double asked = 0, seen = 0;
  /// The bounds of `seen`. A correct stage exceeds them in one of 10^5 runs.
  double low = 0, high = 0;
  CheckUnit unit = CheckUnit::share;
  /// What `seen` is a mean over, for sums over several configurations: draws, bursts, or bits of a
  /// rate. 0: a share, of `frames`, or not a mean.
  double weight = 0;

  [[nodiscard]] bool holds() const noexcept { return seen >= low && seen <= high; }
  /// False if the bounds allow any share: so few frames tell nothing.
  [[nodiscard]] bool enough() const noexcept {
    return unit != CheckUnit::share || low > 0 || high < 1;
  }
  static const FigureTable& figures();
};

/// Compares what a rule's stages did with its configuration: shares of frames, burst lengths,
/// delays and their distribution, rates of policer and queue. `stats` belong to a rule of this
/// configuration. A trace's delays are added, not drawn, so there is no check of them.
std::vector<Check> audit(const RuleConfig& config, const RuleStats& stats);

// Bounds in standard deviations: 7 in 10^6 values of a normal variable are outside.
inline constexpr double kDeviations = 4.5;
// -ln(10^-5 / 2): the probability that one end of a bound by exponential moments is exceeded.
inline constexpr double kUnlikely = 12.2061;

/// Checks a share of `frames`. `variance` is that of the count; one event counts `most` at most.
/// Bernstein's bound, which also holds for few events.
Check share(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
            double asked, double variance, double most = 1);

/// Checks a share of independent frames with the same probability `asked`. For few frames and for
/// shares near 0 and 1 it uses Chernoff's bound, which is narrower there; for 0 and 1 it is exact.
Check binomial(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
               double asked);

/// Checks a share of frames with draws that may be correlated (random/correlated_draw.h). Hits at a
/// distance of n frames have a correlation of at most correlation^n (Dembo, Kagan and Shepp,
/// "Remarks on the maximum correlation coefficient", 2001), which widens the bounds.
Check correlated(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
                 double probability, double correlation);

/// Checks a share of independent frames, each with its own probability p: `expected` is the sum of
/// p, `variance` the sum of p (1 - p).
Check poisson_binomial(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
                       double expected, double variance);

/// Compares counts of bins with their probabilities, which add up to 1 (Pearson's test). Bins with
/// an expected count below five are joined with their neighbours.
Check chi_square(Stage stage, std::string_view what, std::span<const std::uint64_t> counts,
                 std::span<const double> probabilities);
/// The check of a chi-square of `frames` with these degrees of freedom.
Check chi_square_of(Stage stage, std::string_view what, std::uint64_t frames, double freedom,
                    double seen);

}  // namespace lw::emulator
