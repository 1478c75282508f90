// SPDX-License-Identifier: BSD-3-Clause
#include "perf/batch_means.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lw::perf {
namespace {

/// A number of batches, and the 0.975 quantile of Student's t with one degree of freedom less.
struct Batches {
  std::size_t count;
  double t;
};
constexpr std::array<Batches, 2> kBatches = {{{16, 2.131}, {32, 2.040}}};

double seconds_between(const Delivered& from, const Delivered& to) noexcept {
  return std::chrono::duration<double>(to.at - from.at).count();
}

/// Half of the interval's width. The first samples that fill no batch are left out.
double half_width(std::span<const Delivered> samples, const Batches& batches) noexcept {
  const std::size_t stride = (samples.size() - 1) / batches.count;
  const std::size_t first = samples.size() - 1 - stride * batches.count;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < batches.count; ++i) {
    const std::size_t from = first + i * stride;
    const double rate = rate_between(samples[from], samples[from + stride]);
    sum += rate;
    squares += rate * rate;
  }
  const auto n = static_cast<double>(batches.count);
  const double variance = std::max(0.0, squares - sum * sum / n) / (n - 1);
  return batches.t * std::sqrt(variance / n);
}

/// The 95 % interval of a Poisson mean of which `count` were seen. (F. Garwood, 1936)
struct PoissonInterval {
  double low, high;
};
constexpr std::array<PoissonInterval, 10> kPoisson = {{{0, 3.69},
                                                       {0.025, 5.57},
                                                       {0.242, 7.22},
                                                       {0.619, 8.77},
                                                       {1.09, 10.24},
                                                       {1.62, 11.67},
                                                       {2.20, 13.06},
                                                       {2.81, 14.42},
                                                       {3.45, 15.76},
                                                       {4.12, 17.08}}};

/// Widens the interval for the timers that might have expired in the same time.
void cover_waits(RateInterval& interval, double bits, double seconds,
                 const TimerWaits& waits) noexcept {
  if (waits.count >= kPoisson.size() || waits.each <= Duration{}) return;
  const auto& [fewest, most] = kPoisson[waits.count];
  const double each = std::chrono::duration<double>(waits.each).count();
  const auto seen = static_cast<double>(waits.count);
  interval.low = std::min(interval.low, bits / (seconds + (most - seen) * each));
  const double less = (seen - fewest) * each;
  if (less < seconds) interval.high = std::max(interval.high, bits / (seconds - less));
}

}  // namespace

std::optional<RateInterval> rate_interval(std::span<const Delivered> samples,
                                          const TimerWaits& waits) noexcept {
  if (samples.size() <= kBatches.back().count) return std::nullopt;
  const double seconds = seconds_between(samples.front(), samples.back());
  if (seconds <= 0) return std::nullopt;
  const double rate = rate_between(samples.front(), samples.back());
  double half = 0;
  for (const Batches& batches : kBatches) half = std::max(half, half_width(samples, batches));
  RateInterval interval{.low = std::max(0.0, rate - half), .high = rate + half};
  cover_waits(interval, rate * seconds, seconds, waits);
  return interval;
}

}  // namespace lw::perf
