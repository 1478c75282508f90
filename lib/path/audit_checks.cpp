// SPDX-License-Identifier: BSD-3-Clause
#include "path/audit_checks.h"

#include <cmath>
#include <numeric>

namespace lw::path {
namespace {

/// What a chi-square variable exceeds once in 10^5 times (Wilson and Hilferty, 1931).
double chi_square_bound(double freedom) noexcept {
  constexpr double kNormal = 4.3;
  const double part = 2 / (9 * freedom);
  return freedom * std::pow(1 - part + kNormal * std::sqrt(part), 3);
}

}  // namespace

Check share(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
            double asked, double variance, double most) {
  const auto n = static_cast<double>(frames);
  const double bound =
      (kDeviations * std::sqrt(variance) + kDeviations * kDeviations * most / 3) / n;
  return {stage, what, frames, asked, static_cast<double>(hits) / n, asked - bound, asked + bound};
}

Check binomial(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
               double asked) {
  const double variance = static_cast<double>(frames) * asked * (1 - asked);
  return share(stage, what, frames, hits, asked, variance);
}

Check poisson_binomial(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
                       double expected, double variance) {
  return share(stage, what, frames, hits, expected / static_cast<double>(frames), variance);
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
    // What is left must make a bin, too; the last takes all.
    if (expected >= kFewest && left - expected >= kFewest) close_bin();
  }
  if (expected > 0) close_bin();
  const double freedom = bins > 1 ? bins - 1 : 1;
  return {stage, what, all, freedom, sum, 0, chi_square_bound(freedom), Figure::chi_square};
}

}  // namespace lw::path
