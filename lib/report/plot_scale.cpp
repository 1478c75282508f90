// SPDX-License-Identifier: BSD-3-Clause
#include "report/plot_scale.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lw::report {
namespace {

constexpr double kMostTicks = 12;

/// 1, 2 or 5 times a power of ten, so that about six steps make `span`.
double step_for(double span) noexcept {
  const double rough = std::max(span, 1e-300) / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

std::string binary_label(double value) {
  constexpr const char* kPrefixes[] = {"", " Ki", " Mi", " Gi", " Ti"};
  std::size_t prefix = 0;
  for (; value >= 1024 && prefix + 1 < std::size(kPrefixes); ++prefix) value /= 1024;
  return fmt::format("{:g}{}", value, kPrefixes[prefix]);
}

}  // namespace

PlotScale::PlotScale(PlotAxis::Scale scale, double least, double most) : scale_(scale) {
  if (scale == PlotAxis::Scale::linear) {
    tick_evenly(std::min(least, 0.0), most);
  } else {
    tick_powers(scale == PlotAxis::Scale::log ? 10 : 2, least, most);
  }
}

bool PlotScale::fits(PlotAxis::Scale scale, double value) noexcept {
  return std::isfinite(value) && (scale == PlotAxis::Scale::linear || value > 0);
}

double PlotScale::place_of(double value) const noexcept {
  const double placed = scale_ == PlotAxis::Scale::linear ? value : std::log(value);
  return (placed - begin_) / (end_ - begin_);
}

void PlotScale::tick_evenly(double least, double most) {
  const double step = step_for(most > least ? most - least : 1);
  const double first = std::floor(least / step), last = std::max(first + 1, std::ceil(most / step));
  for (double i = first; i <= last; ++i)
    ticks_.push_back({i * step, fmt::format("{:g}", i * step)});
  begin_ = ticks_.front().value;
  end_ = ticks_.back().value;
}

void PlotScale::tick_powers(double base, double least, double most) {
  const double first = std::floor(std::log(least) / std::log(base) + 1e-9);
  const double last = std::max(first + 1, std::ceil(std::log(most) / std::log(base) - 1e-9));
  const double step = std::ceil((last - first) / kMostTicks);
  for (double power = first; power <= last; power += step) {
    const double value = std::pow(base, power);
    ticks_.push_back({value, base == 2 ? binary_label(value) : fmt::format("{:g}", value)});
  }
  begin_ = first * std::log(base);
  end_ = last * std::log(base);
}

}  // namespace lw::report
