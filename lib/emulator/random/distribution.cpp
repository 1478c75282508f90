// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/random/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::emulator {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Newton's method on the logarithm of the smaller tail as a function of ln x, where tails are
/// nearly straight. Bounds that narrow in each step keep it inside.
double gamma_quantile(double shape, double below, double above) noexcept {
  const bool lower = below < above;
  const double target = std::log(lower ? below : above);
  double low = -1000, high = std::log(shape + 1) + 8;  // of ln x
  double y = std::log(shape);
  for (int i = 0; i < 200 && high - low > 1e-14 * std::max(1.0, std::abs(y)); ++i) {
    const double x = std::exp(y);
    const auto [p, q] = incomplete_gamma(shape, x);
    const double tail = lower ? p : q;
    const double miss = std::log(tail) - target;  // -inf far out: a bisection step
    ((miss > 0) == lower ? high : low) = y;
    const double density = std::exp(shape * y - x - std::lgamma(shape));  // with respect to ln x
    const double step = miss * tail / (lower ? density : -density);
    const double next = y - step;
    if (std::abs(step) < 1e-14) return x;
    y = next > low && next < high ? next : (low + high) / 2;
  }
  return std::exp(y);
}

double of(const UniformDelay& d, double below, double /*above*/) noexcept {
  return d.low + (d.high - d.low) * below;
}
double of(const NormalDelay& d, double below, double above) noexcept {
  return d.mean + d.deviation * normal_quantile(below, above);
}
double of(const ExponentialDelay& d, double below, double above) noexcept {
  return -d.mean * (above < 0.5 ? std::log(above) : std::log1p(-below));
}
double of(const GammaDelay& d, double below, double above) noexcept {
  return d.scale * gamma_quantile(d.shape, below, above);
}
double of(const ParetoDelay& d, double /*below*/, double above) noexcept {
  return d.minimum * std::pow(above, -1 / d.shape);
}
double of(const LogNormalDelay& d, double below, double above) noexcept {
  return d.median * std::exp(d.sigma * normal_quantile(below, above));
}

double weight_of(const BinnedDelay& d) noexcept {
  double sum = 0;
  for (const auto& bin : d.bins) sum += bin.weight;
  return sum;
}

double of(const BinnedDelay& d, double below, double /*above*/) noexcept {
  double left = below * weight_of(d);
  for (const auto& bin : d.bins) {
    if (left < bin.weight) return bin.low + (bin.high - bin.low) * left / bin.weight;
    left -= bin.weight;
  }
  return d.bins.back().high;
}

double share(const UniformDelay& d, double x) noexcept {
  if (d.high <= d.low) return x >= d.low ? 1 : 0;
  return std::clamp((x - d.low) / (d.high - d.low), 0.0, 1.0);
}
double share(const NormalDelay& d, double x) noexcept {
  return normal_cumulative((x - d.mean) / d.deviation);
}
double share(const ExponentialDelay& d, double x) noexcept {
  return x <= 0 ? 0 : -std::expm1(-x / d.mean);
}
double share(const GammaDelay& d, double x) noexcept {
  return incomplete_gamma(d.shape, x / d.scale).below;
}
double share(const ParetoDelay& d, double x) noexcept {
  return x <= d.minimum ? 0 : 1 - std::pow(d.minimum / x, d.shape);
}
double share(const LogNormalDelay& d, double x) noexcept {
  return x <= 0 ? 0 : normal_cumulative(std::log(x / d.median) / d.sigma);
}
double share(const BinnedDelay& d, double x) noexcept {
  double sum = 0;
  for (const auto& bin : d.bins) {
    if (x >= bin.high) {
      sum += bin.weight;
    } else if (x > bin.low) {
      sum += bin.weight * (x - bin.low) / (bin.high - bin.low);
    }
  }
  return sum / weight_of(d);
}

struct Moments {
  double mean, variance;
};

Moments moments(const UniformDelay& d) noexcept {
  return {(d.low + d.high) / 2, (d.high - d.low) * (d.high - d.low) / 12};
}
Moments moments(const NormalDelay& d) noexcept { return {d.mean, d.deviation * d.deviation}; }
Moments moments(const ExponentialDelay& d) noexcept { return {d.mean, d.mean * d.mean}; }
Moments moments(const GammaDelay& d) noexcept {
  return {d.shape * d.scale, d.shape * d.scale * d.scale};
}
Moments moments(const ParetoDelay& d) noexcept {
  const double a = d.shape, m = d.minimum;
  return {a > 1 ? a * m / (a - 1) : kInfinity,
          a > 2 ? m * m * a / ((a - 1) * (a - 1) * (a - 2)) : kInfinity};
}
Moments moments(const LogNormalDelay& d) noexcept {
  const double s2 = d.sigma * d.sigma, mean = d.median * std::exp(s2 / 2);
  return {mean, mean * mean * std::expm1(s2)};
}
Moments moments(const BinnedDelay& d) noexcept {
  double mean = 0, square = 0;
  for (const auto& bin : d.bins) {
    mean += bin.weight * (bin.low + bin.high) / 2;
    square += bin.weight * (bin.low * bin.low + bin.low * bin.high + bin.high * bin.high) / 3;
  }
  const double all = weight_of(d);
  return {mean / all, std::max(0.0, square / all - mean * mean / (all * all))};
}

std::string time(double ns) {
  return format_set_duration(Duration{static_cast<Duration::rep>(std::llround(ns))});
}
std::string words(const UniformDelay& d) {
  return fmt::format("uniform {} to {}", time(d.low), time(d.high));
}
std::string words(const NormalDelay& d) {
  return fmt::format("normal, mean {}, deviation {}", time(d.mean), time(d.deviation));
}
std::string words(const ExponentialDelay& d) {
  return fmt::format("exponential, mean {}", time(d.mean));
}
std::string words(const GammaDelay& d) {
  return fmt::format("gamma, shape {:g}, scale {}", d.shape, time(d.scale));
}
std::string words(const ParetoDelay& d) {
  return fmt::format("Pareto, shape {:g}, minimum {}", d.shape, time(d.minimum));
}
std::string words(const LogNormalDelay& d) {
  return fmt::format("log-normal, median {}, sigma {:g}", time(d.median), d.sigma);
}
std::string words(const BinnedDelay& d) {
  return fmt::format("{} bins, {} to {}", d.bins.size(), time(d.bins.front().low),
                     time(d.bins.back().high));
}

}  // namespace

double quantile(const Distribution& distribution, double below, double above) noexcept {
  return std::visit([=](const auto& d) { return of(d, below, above); }, distribution);
}

double cumulative(const Distribution& distribution, double delay) noexcept {
  return std::visit([=](const auto& d) { return share(d, delay); }, distribution);
}

double mean_of(const Distribution& distribution) noexcept {
  return std::visit([](const auto& d) { return moments(d).mean; }, distribution);
}

double deviation_of(const Distribution& distribution) noexcept {
  return std::sqrt(std::visit([](const auto& d) { return moments(d).variance; }, distribution));
}

std::string describe(const Distribution& distribution) {
  return std::visit([](const auto& d) { return words(d); }, distribution);
}

double normal_cumulative(double z) noexcept { return std::erfc(-z / std::numbers::sqrt2) / 2; }

/// Starts at the leading term of the tail, then applies Newton's method to the tail's logarithm,
/// which is nearly a parabola: a few steps give full precision.
double normal_quantile(double below, double above) noexcept {
  const double tail = std::min(below, above);
  if (tail == 0.5) return 0;
  const double target = std::log(tail);
  double z = -std::sqrt(std::max(0.0, -2 * (target + std::numbers::ln2)));
  for (int i = 0; i < 20; ++i) {
    const double p = normal_cumulative(z);
    const double density = std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    const double step = (std::log(p) - target) * p / density;
    z -= step;
    if (std::abs(step) < 1e-13) break;
  }
  return below < above ? z : -z;
}

namespace {

constexpr double kPrecision = 1e-15;
// Far more than any permitted shape needs, about 10 sqrt(shape).
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
