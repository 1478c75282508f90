// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/time.h"

namespace lw::dissect {

/// Nanoseconds as a whole number: at most 9e18, which stamps that may be anything can exceed.
inline std::int64_t rounded_ns(double ns) noexcept {
  return std::llround(std::clamp(ns, -9e18, 9e18));
}

/// A delay and the time of its packet, in ns.
struct DelaySample {
  std::int64_t time_ns = 0, delay_ns = 0;
};

/// A step of a delay: from the packet at `index` on, it is longer by `by_ns` (< 0: shorter).
struct DelayStep {
  std::size_t index = 0;
  std::int64_t by_ns = 0;
  std::int64_t range_ns = 0;  // of the delays around it: from the 1st to the 99th percentile
};

/// A steady change of a delay.
struct DelayDrift {
  double slope = 0;  // ns a ns
  double error = 0;  // its standard error
};
/// The median of the slopes of eight parts of the samples, of which a step changes one. 0 of fewer
/// than 128 samples.
DelayDrift drift_of(std::span<const DelaySample> samples);
/// Delays without the drift, if that is four times its error, relative to the first one.
std::vector<double> level_delays(std::span<const DelaySample> samples);

/// Finds the steps of a delay, in the order of time; `delays` are in that order, in ns, without
/// drift (level_delays()).
///
/// A step is a jump (find_delay_jumps()) that moves the 10th, 50th and 90th percentile around it
/// (up to kStepWindow packets) the same way, by a quarter of its size or more; its size
/// (growth_at()) is at least half of the range from the 1st to the 99th percentile there, and more
/// than three times `resolution_ns` of the stamps. kStepFewest packets are needed on either side.
/// The parts before and behind a step are searched in the same way. Of more than 32,768 packets, a
/// step that lasts short may be missed. tests/long/path_changes.py measures what is missed, and the
/// false ones.
std::vector<DelayStep> find_delay_steps(std::span<const double> delays, std::int64_t resolution_ns);
inline constexpr std::size_t kStepFewest = 8, kStepWindow = 200;
inline constexpr std::size_t kMostDelaySteps = 64;

}  // namespace lw::dissect
