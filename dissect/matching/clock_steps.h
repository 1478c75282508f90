// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "core/figure.h"
#include "dissect/matching/matching.h"

namespace lw::dissect {

/// A step of one point's clock against the other's.
struct ClockStep {
  std::uint32_t far_order = 0;   // of the first matched frame behind it
  std::uint32_t far_number = 0;  // that frame's number in the far capture
  std::int64_t by_ns = 0;        // what far minus near grew by

  static const FigureTable& figures();
};

/// Finds the steps of the clocks: at once, far's stamps minus near's change by the same time in
/// both directions, and stay so for kClockWindow matches of each. A change of the path's delay
/// changes one direction, or both with opposite signs, so it is no step. With one direction, none
/// is found. A step is at least 20 us, and four times as long as the differences vary around it.
/// Returns at most kMostSteps, in the order of the far capture.
std::vector<ClockStep> find_clock_steps(Records near, Records far, const Matching& matching);
/// Those of far's stamps: for Records.
std::vector<StampStep> stamp_steps(const std::vector<ClockStep>& steps);
inline constexpr std::size_t kClockWindow = 9, kMostSteps = 64;

}  // namespace lw::dissect
