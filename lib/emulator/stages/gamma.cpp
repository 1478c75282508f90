// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <limits>

#include "emulator/stages/distribution.h"

namespace lw::emulator {
namespace {

constexpr double kPrecision = 1e-15;
// Far more than any shape that profiles allow needs: about 10 sqrt(shape).
constexpr int kMostSteps = 20000;

/// x^shape e^-x / Gamma(shape)
double factor(double shape, double x) noexcept {
  return std::exp(shape * std::log(x) - x - std::lgamma(shape));
}

double below_by_series(double shape, double x) noexcept {
  double term = 1 / shape, sum = term;
  for (int n = 1; n < kMostSteps && term > sum * kPrecision; ++n) {
    term *= x / (shape + n);
    sum += term;
  }
  return sum * factor(shape, x);
}

/// Lentz's method.
double above_by_fraction(double shape, double x) noexcept {
  constexpr double kTiny = std::numeric_limits<double>::min() / kPrecision;
  double b = x + 1 - shape, c = 1 / kTiny, d = 1 / b, h = d;
  for (int i = 1; i < kMostSteps; ++i) {
    const double a = -i * (i - shape);
    b += 2;
    d = a * d + b;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    c = b + a / c;
    if (std::abs(c) < kTiny) c = kTiny;
    h *= d * c;
    if (std::abs(d * c - 1) < kPrecision) break;
  }
  return h * factor(shape, x);
}

}  // namespace

IncompleteGamma incomplete_gamma(double shape, double x) noexcept {
  if (x <= 0) return {0, 1};
  if (x < shape + 1) {
    const double below = below_by_series(shape, x);
    return {below, 1 - below};
  }
  const double above = above_by_fraction(shape, x);
  return {1 - above, above};
}

}  // namespace lw::emulator
