// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/time.h"
#include "perf/rate.h"

namespace lw::perf {

/// Payload delivered until a time.
struct Delivered {
  Instant at;
  std::uint64_t bytes = 0;
};

inline double rate_between(const Delivered& from, const Delivered& to) noexcept {
  return rate_bps(to.bytes - from.bytes, to.at - from.at);
}

/// A confidence interval of a rate, in b/s.
struct RateInterval {
  double low = 0, high = 0;

  /// True if the interval is within `share` of `rate`.
  [[nodiscard]] bool within(double share, double rate) const noexcept {
    return high - rate <= share * rate && rate - low <= share * rate;
  }
};

/// Waits for a timer, which are rare and long: they dominate the variance of a rate.
struct TimerWaits {
  std::uint64_t count = 0;  // in the samples
  Duration each{};          // by which one wait of a QP delays all QPs, on average
};

/// Returns the 95 % interval of the mean rate by batch means (A. Law, Simulation Modeling and
/// Analysis, 9.5.3): the samples, at equal distances, are divided into 16 and into 32 batches, and
/// the wider interval of both counts. Where fewer than 10 timers expired, the interval also covers
/// the 95 % interval of a Poisson variable for their number. Nothing below 33 samples.
std::optional<RateInterval> rate_interval(std::span<const Delivered> samples,
                                          const TimerWaits& waits);

}  // namespace lw::perf
