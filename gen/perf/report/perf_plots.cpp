// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_plots.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace lw::gen {
namespace {

using report::Plot;
using report::PlotAxis;
using report::PlotCurve;

struct Percentile {
  const char* name;
  double share;
};
constexpr std::array<Percentile, 6> kPercentiles = {
    {{"least", 0}, {"50 %", 0.5}, {"90 %", 0.9}, {"99 %", 0.99}, {"99.9 %", 0.999}, {"most", 1}}};
constexpr std::size_t kMostSizes = 8;  // histograms in one plot

/// Returns the size axis; for a single size, a category axis with its name.
template <class Rows>
PlotAxis size_axis(const Rows& rows) {
  if (rows.size() > 1) return {.label = "message size, bytes", .scale = PlotAxis::Scale::binary};
  return {.label = "message size, bytes",
          .scale = PlotAxis::Scale::category,
          .categories = {fmt::to_string(rows.front().size)}};
}

template <class Rows>
double place_of(const Rows& rows, std::size_t index) {
  return rows.size() > 1 ? static_cast<double>(rows[index].size) : 0;
}

}  // namespace

void PerfPlots::add(std::uint32_t size, const PerfOutcome& outcome, double link_bps) {
  if (const Histogram& ns = outcome.latency.ns; ns.count() > 0) {
    Latency row{.size = size, .percentiles_ns = {}, .buckets = ns.occupied()};
    for (const Percentile& each : kPercentiles)
      row.percentiles_ns.push_back(each.share == 0   ? ns.minimum()
                                   : each.share == 1 ? ns.maximum()
                                                     : ns.quantile(each.share));
    latency_.push_back(std::move(row));
  }
  if (const perf::BandwidthResult& result = outcome.bandwidth; result.messages > 0)
    bandwidth_.push_back({size, result.average_bps, result.steady_bps, result.peak_bps, link_bps});
}

std::vector<Plot> PerfPlots::plots() const {
  std::vector<Plot> plots;
  if (!bandwidth_.empty()) plots.push_back(bandwidth_plot());
  if (latency_.empty()) return plots;
  plots.push_back(percentile_plot());
  plots.push_back(histogram_plot());
  return plots;
}

Plot PerfPlots::bandwidth_plot() const {
  struct Column {
    const char* name;
    double Bandwidth::* value;
    bool reference = false;
  };
  constexpr Column kColumns[] = {{"link", &Bandwidth::link_bps, true},
                                 {"best half (peak)", &Bandwidth::peak_bps},
                                 {"average", &Bandwidth::average_bps},
                                 {"steady", &Bandwidth::steady_bps}};
  double most = 0;
  for (const Bandwidth& row : bandwidth_)
    for (const Column& column : kColumns) most = std::max(most, row.*column.value);
  const report::PlotUnit unit = report::rate_unit(most);
  Plot plot{.title = "Bandwidth",
            .x = size_axis(bandwidth_),
            .y = {.label = "goodput, " + unit.name},
            .curves = {}};
  for (const Column& column : kColumns) {
    PlotCurve curve{.name = column.name, .points = {}, .reference = column.reference};
    for (std::size_t i = 0; i < bandwidth_.size(); ++i)
      if (bandwidth_[i].*column.value > 0)
        curve.points.push_back(
            {place_of(bandwidth_, i), bandwidth_[i].*column.value / unit.size, {}, {}});
    if (!curve.points.empty()) plot.curves.push_back(std::move(curve));
  }
  return plot;
}

Plot PerfPlots::percentile_plot() const {
  double most = 0;
  for (const Latency& row : latency_)
    most = std::max(most, static_cast<double>(row.percentiles_ns.back()));
  const report::PlotUnit unit = report::time_unit(most);
  Plot plot{.title = "Latency: percentiles",
            .x = size_axis(latency_),
            .y = {.label = "latency, " + unit.name},
            .curves = {}};
  for (std::size_t p = 0; p < kPercentiles.size(); ++p) {
    PlotCurve curve{.name = kPercentiles[p].name, .points = {}};
    for (std::size_t i = 0; i < latency_.size(); ++i)
      curve.points.push_back({place_of(latency_, i),
                              static_cast<double>(latency_[i].percentiles_ns[p]) / unit.size,
                              {},
                              {}});
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

Plot PerfPlots::histogram_plot() const {
  std::vector<report::NamedBuckets> parts;
  const std::size_t step = (latency_.size() + kMostSizes - 1) / kMostSizes;
  for (std::size_t i = 0; i < latency_.size(); i += step)
    parts.push_back({fmt::format("{} B", latency_[i].size), latency_[i].buckets});
  return report::time_histogram("Latency: histogram", "latency", parts);
}

}  // namespace lw::gen
