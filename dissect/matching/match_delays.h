// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dissect/matching/clock_steps.h"
#include "dissect/matching/two_clocks.h"

namespace lw::dissect {

/// One-way delays of matched frames: by the clocks of two points, or by their stamps.
class MatchDelays {
 public:
  /// `clocks`: a fit for each time between two steps; none: the stamps are of one clock.
  MatchDelays(std::vector<ClockFit> clocks, std::vector<ClockStep> steps)
      : clocks_(std::move(clocks)), steps_(std::move(steps)) {}

  /// The delay in ns; with a fit of one direction, the variation. Nothing: the fit was refused.
  /// `far` has the stamp of its clock before the first step.
  [[nodiscard]] std::optional<std::int64_t> delay_ns(const CaptureRecord& near,
                                                     const CaptureRecord& far,
                                                     bool goes_far) const noexcept;
  /// The stamp that the near clock had when far captured a frame; that of far without a fit.
  [[nodiscard]] std::int64_t near_clock_ns(const CaptureRecord& far) const noexcept;

 private:
  [[nodiscard]] const ClockFit& fit_of(const CaptureRecord& far) const noexcept;

  std::vector<ClockFit> clocks_;
  std::vector<ClockStep> steps_;
};

}  // namespace lw::dissect
