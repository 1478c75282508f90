// SPDX-License-Identifier: BSD-3-Clause
#include "report/rate_history.h"

#include <algorithm>

#include "report/plot_curves.h"

namespace lw::report {

void RateHistory::add(Duration elapsed, std::span<const std::uint64_t> totals) {
  if (elapsed <= (samples_.empty() ? Duration{0} : samples_.back().at)) return;
  samples_.push_back({elapsed, {totals.begin(), totals.end()}});
  if (samples_.size() == kMost) {
    for (std::size_t i = 0; i < kMost / 2; ++i) samples_[i] = std::move(samples_[2 * i + 1]);
    samples_.resize(kMost / 2);
    interval_ *= 2;
  }
  while (next_ <= elapsed) next_ += interval_;
}

void RateHistory::mark(Duration elapsed, std::string label) {
  if (marks_.size() < kMostMarks)
    marks_.push_back({static_cast<double>(elapsed.count()) * 1e-9, std::move(label)});
}

std::vector<Plot> RateHistory::plots() const {
  std::vector<Plot> plots;
  std::size_t first = 0;
  for (const Group& group : groups_) {
    plots.push_back(plot(group, first));
    first += group.counters.size();
  }
  return plots;
}

PlotCurve RateHistory::curve(const std::string& name, std::size_t counter, double scale) const {
  PlotCurve curve{.name = name, .points = {}, .marked = false};
  Duration begin{0};
  std::uint64_t before = 0;
  for (const Sample& sample : samples_) {
    const std::uint64_t total = sample.totals[counter];
    const auto change = static_cast<double>(static_cast<std::int64_t>(total - before));
    const double seconds = static_cast<double>((sample.at - begin).count()) * 1e-9;
    curve.points.push_back(
        {static_cast<double>(sample.at.count()) * 1e-9, change * scale / seconds, {}, {}});
    begin = sample.at;
    before = total;
  }
  return curve;
}

Plot RateHistory::plot(const Group& group, std::size_t first) const {
  const bool bits = group.unit == Unit::bytes;
  Plot plot{.title = group.title, .x = {.label = "time since the start, s"}, .y = {}, .curves = {}};
  if (samples_.size() < 2) return plot;
  plot.marks = marks_;
  const auto is_zero = [&](std::size_t counter) {
    return std::ranges::all_of(samples_, [&](const Sample& s) { return s.totals[counter] == 0; });
  };
  bool all_zero = true;
  for (std::size_t i = 0; i < group.counters.size(); ++i) all_zero &= is_zero(first + i);
  double most = 0;
  for (std::size_t i = 0; i < group.counters.size(); ++i) {
    if (is_zero(first + i) && !all_zero) continue;
    plot.curves.push_back(curve(group.counters[i], first + i, bits ? 8 : 1));
    for (const PlotPoint& point : plot.curves.back().points) most = std::max(most, point.y);
  }
  const PlotUnit unit = bits ? rate_unit(most) : PlotUnit{"frames/s", 1};
  plot.y.label = group.what + ", " + unit.name;
  for (PlotCurve& curve : plot.curves)
    for (PlotPoint& point : curve.points) point.y /= unit.size;
  return plot;
}

}  // namespace lw::report
