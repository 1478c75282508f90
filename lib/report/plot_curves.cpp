// SPDX-License-Identifier: BSD-3-Clause
#include "report/plot_curves.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include <fmt/format.h>

namespace lw::report {
namespace {

/// Classes of equal ratio, at positions that do not depend on the values: 10^(i / kPerDecade).
constexpr double kPerDecade = 20;

double edge_of(int position) { return std::pow(10, position / kPerDecade); }

int class_of(double value) {
  return static_cast<int>(std::floor(std::log10(std::max(value, 1.0)) * kPerDecade + 1e-9));
}

PlotUnit unit_of(double most, std::initializer_list<PlotUnit> units) {
  for (const PlotUnit& unit : units)
    if (most >= unit.size) return unit;
  return *(units.end() - 1);
}

}  // namespace

PlotUnit time_unit(double most_ns) {
  return unit_of(most_ns, {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}});
}

PlotUnit rate_unit(double most_bps) {
  return unit_of(most_bps,
                 {{"Tb/s", 1e12}, {"Gb/s", 1e9}, {"Mb/s", 1e6}, {"kb/s", 1e3}, {"b/s", 1}});
}

PlotCurve histogram_curve(std::string name, std::span<const Histogram::Bucket> buckets,
                          double unit) {
  PlotCurve curve{.name = std::move(name), .points = {}, .marked = false};
  std::map<int, std::uint64_t> classes;
  std::uint64_t all = 0;
  for (const Histogram::Bucket& bucket : buckets) {
    const double middle =
        (static_cast<double>(bucket.first) + static_cast<double>(bucket.last)) / 2;
    classes[class_of(middle)] += bucket.count;
    all += bucket.count;
  }
  if (all == 0) return curve;
  const auto add = [&](int position, double share) {
    curve.points.push_back({edge_of(position) / unit, share, {}, {}});
  };
  double before = 0;
  for (int at = classes.begin()->first; at <= classes.rbegin()->first; ++at) {
    const auto found = classes.find(at);
    const double share = found == classes.end()
                             ? 0
                             : 100 * static_cast<double>(found->second) / static_cast<double>(all);
    add(at, before);
    add(at, share);
    before = share;
  }
  add(classes.rbegin()->first + 1, before);
  add(classes.rbegin()->first + 1, 0);
  return curve;
}

Plot time_histogram(std::string title, std::string what, std::span<const NamedBuckets> parts) {
  double most = 0;
  for (const NamedBuckets& part : parts)
    if (!part.buckets.empty()) most = std::max(most, static_cast<double>(part.buckets.back().last));
  const PlotUnit unit = time_unit(most);
  Plot plot{.title = std::move(title),
            .x = {.label = fmt::format("{}, {}", what, unit.name), .scale = PlotAxis::Scale::log},
            .y = {.label = "share per step of the curve, %"},
            .curves = {}};
  for (const NamedBuckets& part : parts)
    if (PlotCurve curve = histogram_curve(part.name, part.buckets, unit.size);
        !curve.points.empty())
      plot.curves.push_back(std::move(curve));
  return plot;
}

}  // namespace lw::report
