// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lw::dissect {

/// A delay and the time of its packet, in ns.
struct DelaySample {
  std::int64_t time_ns = 0, delay_ns = 0;
};

/// A step of a delay: from the packet at `index` on, it is longer by `by_ns` (< 0: shorter).
struct DelayStep {
  std::size_t index = 0;
  std::int64_t by_ns = 0;
};

/// Finds the steps of a delay, in the order of time; `samples` are in that order.
///
/// A steady drift is taken off first. Then the test of Pettitt
/// (A. N. Pettitt 1979), by ranks, so that single long delays do not count, decides whether the
/// series has a step and where, and again for the parts before and behind it. It names one where
/// there is none in one of 10,000 series, if delays are independent. As those of a queue are not, a
/// step must also move the 10th, 50th and 90th percentile around it (up to kWindow packets) alike,
/// and by at least half of the range from the 1st to the 99th percentile there, and by more than
/// three times `resolution_ns` of the stamps. kFewest packets are needed on either side.
std::vector<DelayStep> find_delay_steps(std::span<const DelaySample> samples,
                                        std::int64_t resolution_ns);
inline constexpr std::size_t kStepFewest = 8, kStepWindow = 200;
inline constexpr double kStepFalseRate = 1e-4;
inline constexpr std::size_t kMostDelaySteps = 64;

}  // namespace lw::dissect
