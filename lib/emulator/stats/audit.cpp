// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stats/audit.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/figure.h"
#include "emulator/random/correlated_draw.h"

namespace lw::emulator {

std::string_view name_of(CheckUnit unit) noexcept {
  static constexpr std::string_view kNames[] = {"share",  "frames", "ns",
                                                "bits/s", "bytes",  "chi-square"};
  return kNames[static_cast<std::size_t>(unit)];
}

const FigureTable& Check::figures() {
  using Row = FigureOf<Check>;
  static constexpr Figure kRows[] = {
      Row::of<&Check::stage>("stage", "Name of the stage."),
      Row::of<&Check::what>("what", "What is compared."),
      Row::of<&Check::frames>("frames", "Frames that it saw.", Unit::frames),
      Row::of<&Check::asked>("asked", "What the profile asks for."),
      Row::of<&Check::seen>("seen", "What was seen."),
      Row::of<&Check::low>("low", "Lower end of the interval in which a right stage stays."),
      Row::of<&Check::high>("high", "Upper end of that interval."),
      Row::of<&Check::holds>("holds", "True if what was seen lies within."),
      Row::of<&Check::enough>("enough", "False if any share would be within: too few frames."),
      Row::of<&Check::unit>("unit",
                            "Unit of the four: share (0 to 1), frames, ns, bits/s, bytes or "
                            "chi-square.")};
  static constexpr FigureTable kTable{"A stage: what was asked and what was seen.", kRows};
  return kTable;
}
namespace {

/// The value that a chi-square variable exceeds once in 10^5 times.
double chi_square_bound(double freedom) {
  const boost::math::chi_squared distribution(freedom);
  return boost::math::quantile(boost::math::complement(distribution, 1e-5));
}

/// The Kullback-Leibler divergence per frame, in nats, of a share `seen` from the share `asked`.
double divergence(double seen, double asked) noexcept {
  const auto part = [](double p, double q) {
    if (p <= 0) return 0.0;
    return q > 0 ? p * std::log(p / q) : std::numeric_limits<double>::infinity();
  };
  return part(seen, asked) + part(1 - seen, 1 - asked);
}

/// Chernoff's bound: the share between `asked` and `end` beyond which a result is unlikely. Holds
/// for any number of frames and any share.
double likely_until(double end, double asked, double frames) noexcept {
  if (frames * divergence(end, asked) <= kUnlikely) return end;
  double likely = asked, unlikely = end;
  for (int i = 0; i < 60; ++i) {
    const double middle = (likely + unlikely) / 2;
    (frames * divergence(middle, asked) <= kUnlikely ? likely : unlikely) = middle;
  }
  return likely;
}

/// For independent frames with unequal probabilities, the bound of their mean probability holds too
/// (Hoeffding, "Probability inequalities for sums of bounded random variables", 1963).
Check narrowed(Check check) noexcept {
  const double asked = std::clamp(check.asked, 0.0, 1.0);
  const auto n = static_cast<double>(check.frames);
  check.low = std::max(check.low, likely_until(0, asked, n));
  check.high = std::min(check.high, likely_until(1, asked, n));
  return check;
}

}  // namespace

Check share(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
            double asked, double variance, double most) {
  const auto n = static_cast<double>(frames);
  const double bound =
      (kDeviations * std::sqrt(variance) + kDeviations * kDeviations * most / 3) / n;
  return {stage,
          what,
          frames,
          asked,
          static_cast<double>(hits) / n,
          std::max(0.0, asked - bound),
          std::min(1.0, asked + bound)};
}

Check binomial(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
               double asked) {
  const double variance = static_cast<double>(frames) * asked * (1 - asked);
  return narrowed(share(stage, what, frames, hits, asked, variance));
}

Check correlated(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
                 double probability, double correlation) {
  const double asked = correlated_share(probability, correlation);
  if (correlation == 0) return binomial(stage, what, frames, hits, asked);
  const double wider = (1 + correlation) / (1 - correlation);
  return share(stage, what, frames, hits, asked,
               static_cast<double>(frames) * asked * (1 - asked) * wider, wider);
}

Check poisson_binomial(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
                       double expected, double variance) {
  return narrowed(
      share(stage, what, frames, hits, expected / static_cast<double>(frames), variance));
}

Check chi_square(Stage stage, std::string_view what, std::span<const std::uint64_t> counts,
                 std::span<const double> probabilities) {
  constexpr double kFewest = 5;
  const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  double sum = 0, expected = 0, seen = 0, left = static_cast<double>(all);
  unsigned bins = 0;
  const auto close_bin = [&] {
    sum += (seen - expected) * (seen - expected) / expected;
    left -= expected;
    expected = seen = 0;
    ++bins;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    seen += static_cast<double>(counts[i]);
    expected += probabilities[i] * static_cast<double>(all);
    // The rest must be enough for one more bin; otherwise the last bin takes it.
    if (expected >= kFewest && left - expected >= kFewest) close_bin();
  }
  if (expected > 0) close_bin();
  return chi_square_of(stage, what, all, bins > 1 ? bins - 1 : 1, sum);
}

Check chi_square_of(Stage stage, std::string_view what, std::uint64_t frames, double freedom,
                    double seen) {
  return {stage, what, frames, freedom, seen, 0, chi_square_bound(freedom), CheckUnit::chi_square};
}

std::vector<Check> audit(const RuleConfig& config, const RuleStats& stats) {
  std::vector<Check> checks;
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::audit))
      if (S::present(config)) S::audit(config, stats, checks);
  });
  return checks;
}

}  // namespace lw::emulator
