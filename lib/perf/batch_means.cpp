// SPDX-License-Identifier: BSD-3-Clause
#include "perf/batch_means.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace lw::perf {
namespace {

constexpr std::array<std::size_t, 2> kBatches = {16, 32};
constexpr double kTail = 0.025;  // on either side of a 95 % interval

double seconds_between(const Delivered& from, const Delivered& to) noexcept {
  return std::chrono::duration<double>(to.at - from.at).count();
}

/// Half of the interval's width. The first samples that fill no batch are left out.
double half_width(std::span<const Delivered> samples, std::size_t batches) {
  const std::size_t stride = (samples.size() - 1) / batches;
  const std::size_t first = samples.size() - 1 - stride * batches;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < batches; ++i) {
    const std::size_t from = first + i * stride;
    const double rate = rate_between(samples[from], samples[from + stride]);
    sum += rate;
    squares += rate * rate;
  }
  const auto n = static_cast<double>(batches);
  const double variance = std::max(0.0, squares - sum * sum / n) / (n - 1);
  const boost::math::students_t t(n - 1);
  return boost::math::quantile(boost::math::complement(t, kTail)) * std::sqrt(variance / n);
}

/// The 95 % interval of a Poisson mean of which `count` were seen. (F. Garwood, 1936)
struct PoissonInterval {
  explicit PoissonInterval(double count)
      : low(count == 0 ? 0 : quantile(boost::math::chi_squared(2 * count), kTail) / 2),
        high(quantile(complement(boost::math::chi_squared(2 * count + 2), kTail)) / 2) {}
  double low, high;
};
constexpr std::uint64_t kFewWaits = 10;

/// Widens the interval for the timers that might have expired in the same time.
void cover_waits(RateInterval& interval, double bits, double seconds, const TimerWaits& waits) {
  if (waits.count >= kFewWaits || waits.each <= Duration{}) return;
  const double each = std::chrono::duration<double>(waits.each).count();
  const auto seen = static_cast<double>(waits.count);
  const PoissonInterval likely(seen);
  interval.low = std::min(interval.low, bits / (seconds + (likely.high - seen) * each));
  const double less = (seen - likely.low) * each;
  if (less < seconds) interval.high = std::max(interval.high, bits / (seconds - less));
}

}  // namespace

std::optional<RateInterval> rate_interval(std::span<const Delivered> samples,
                                          const TimerWaits& waits) {
  if (samples.size() <= kBatches.back()) return std::nullopt;
  const double seconds = seconds_between(samples.front(), samples.back());
  if (seconds <= 0) return std::nullopt;
  const double rate = rate_between(samples.front(), samples.back());
  double half = 0;
  for (const std::size_t batches : kBatches) half = std::max(half, half_width(samples, batches));
  RateInterval interval{.low = std::max(0.0, rate - half), .high = rate + half};
  cover_waits(interval, rate * seconds, seconds, waits);
  return interval;
}

}  // namespace lw::perf
