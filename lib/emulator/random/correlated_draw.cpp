// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/random/correlated_draw.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace lw::emulator {
namespace {

constexpr std::size_t kSteps = 4096;

/// The integral from 0 to `x` of a function given at 0, 1 / kSteps, ..., 1, which is 0 below 0 and
/// 1 above 1. `sums` are the integrals up to these places.
double integral(const std::vector<double>& sums, double x) noexcept {
  if (x <= 0) return 0;
  if (x >= 1) return sums.back() + x - 1;
  const double place = x * kSteps;
  const auto i = static_cast<std::size_t>(place);
  return sums[i] + (sums[i + 1] - sums[i]) * (place - static_cast<double>(i));
}

}  // namespace

/// Computes the distribution function F of x from that of x', again and again: F(y) is the mean
/// over u of F'((y - (1 - c) u) / c). It starts from a uniform x', whose weight falls by c each
/// time.
double correlated_share(double probability, double correlation) {
  if (correlation <= 0 || probability <= 0 || probability >= 1) return probability;
  std::vector<double> below(kSteps + 1), sums(kSteps + 1);
  for (std::size_t i = 0; i <= kSteps; ++i) below[i] = static_cast<double>(i) / kSteps;
  const auto rounds = static_cast<int>(std::ceil(std::log(1e-7) / std::log(correlation)));
  const double rest = 1 - correlation;
  const auto next = [&](double y) {
    return std::clamp((integral(sums, y / correlation) - integral(sums, (y - rest) / correlation)) *
                          correlation / rest,
                      0.0, 1.0);
  };
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < kSteps; ++i)
      sums[i + 1] = sums[i] + (below[i] + below[i + 1]) / 2 / kSteps;
    for (std::size_t i = 0; i <= kSteps; ++i) below[i] = next(static_cast<double>(i) / kSteps);
  }
  return next(probability);
}

}  // namespace lw::emulator
