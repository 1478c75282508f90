// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "report/plot.h"

namespace lw::report {

/// Where values stand on an axis, and where it is labelled.
class PlotScale {
 public:
  /// Spans `least` to `most`, of values that fits() let by; widened to whole steps.
  PlotScale(PlotAxis::Scale scale, double least, double most);

  [[nodiscard]] static bool fits(PlotAxis::Scale scale, double value) noexcept;

  struct Tick {
    double value = 0;
    std::string label;
  };
  [[nodiscard]] const std::vector<Tick>& ticks() const noexcept { return ticks_; }
  /// 0 at the axis' beginning, 1 at its end.
  [[nodiscard]] double place_of(double value) const noexcept;

 private:
  void tick_evenly(double least, double most);
  void tick_powers(double base, double least, double most);

  PlotAxis::Scale scale_;
  double begin_ = 0, end_ = 1;  // as placed: logarithms where the scale is one
  std::vector<Tick> ticks_;
};

}  // namespace lw::report
