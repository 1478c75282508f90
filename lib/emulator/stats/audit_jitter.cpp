// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <numeric>

#include "emulator/stats/audit_stages.h"
#include "emulator/stats/fit.h"

namespace lw::emulator {
namespace {

// Samples of a wandering delay are four half-lives apart or more, so that no function of one is
// correlated by more than this with any of the next (Gebelein, 1941): so much larger than that of
// independent ones may the variance of their sum be.
constexpr double kLeft = 1.0 / 16;
constexpr double kWider = (1 + kLeft) / (1 - kLeft);

void audit_draws(const JitterConfig& jitter, const DrawStats& seen, const RuleStats& stats,
                 double wider, std::vector<Check>& checks) {
  const Distribution& asked = jitter.distribution;
  const double mean = mean_of(asked), deviation = deviation_of(asked);
  if (seen.count >= kFewestDraws && std::isfinite(deviation)) {
    // The tables that draws come from are good to some 10^-5.
    const double bound =
        kDeviations * deviation * std::sqrt(wider / static_cast<double>(seen.count)) +
        1e-4 * deviation;
    checks.push_back({Stage::delay, "mean jitter", seen.count, mean, seen.mean(), mean - bound,
                      mean + bound, Figure::nanoseconds});
  }
  const auto sampled = std::accumulate(stats.fit.begin(), stats.fit.end(), std::uint64_t{0});
  if (sampled < kFewestDraws) return;
  Check fit = chi_square(Stage::delay, "jitter's distribution", stats.fit,
                         FitBins(asked).probabilities(asked));
  fit.high *= wider;
  checks.push_back(fit);
}

/// How long a score takes to lose half of its correlation, by its squared change over a time that
/// is known: normal scores' changes are normal, so their squares' sum is chi-square, pairs being
/// as good as independent of each other.
std::optional<Check> half_life(Duration asked, const WanderStats& seen) {
  constexpr std::uint64_t kFewestPairs = 100;
  if (seen.pairs() < kFewestPairs) return std::nullopt;
  // Between a chain's steps the score is interpolated: at some places of a step it keeps so much
  // more, or less, than on average.
  constexpr double kUneven = 0.016;
  const auto pairs = static_cast<double>(seen.pairs()), half = static_cast<double>(asked.count());
  const double lost = 1 - std::exp2(-seen.mean_lag() / half);
  // Laurent and Massart, 2000: outside once in 10^5 runs.
  const double part = kUnlikely / pairs;
  const double most = lost * (1 + 2 * std::sqrt(part) + 2 * part) + kUneven;
  const double least = lost * (1 - 2 * std::sqrt(part)) - kUneven;
  const auto time_to_halve = [&](double lost_by_then) {
    const double kept = std::min(1 - lost_by_then, 1 - 1e-12);
    return kept <= 0 ? 0 : seen.mean_lag() / -std::log2(kept);
  };
  return Check{Stage::delay,
               "half-life",
               seen.pairs(),
               half,
               time_to_halve(seen.mean_half_square()),
               time_to_halve(most),
               time_to_halve(least),
               Figure::nanoseconds};
}

}  // namespace

void audit_jitter(const JitterConfig& jitter, const RuleStats& stats, std::vector<Check>& checks) {
  if (!jitter.half_life) return audit_draws(jitter, stats.jitter, stats, 1, checks);
  audit_draws(jitter, stats.wander.delays, stats, kWider, checks);
  if (const auto check = half_life(*jitter.half_life, stats.wander)) checks.push_back(*check);
}

}  // namespace lw::emulator
