// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_plots.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/plot_curves.h"

namespace lw::gen {
namespace {

using config::Rate;
using report::NamedBuckets;
using report::Plot;
using report::PlotCurve;

constexpr std::size_t kMostBars = 32, kMostHistograms = 8;

/// Flows with the same unit of rate.
struct RatePlot {
  std::vector<std::string> flows;
  std::vector<double> requested, measured;
};

PlotCurve points_at(std::string name, const std::vector<double>& values, double unit) {
  PlotCurve curve{.name = std::move(name), .points = {}, .joined = false};
  for (std::size_t i = 0; i < values.size(); ++i)
    curve.points.push_back({static_cast<double>(i), values[i] / unit, {}, {}});
  return curve;
}

std::string of_flows(std::size_t shown, std::size_t all) {
  return shown < all ? fmt::format(" (the first {} of {} flows)", shown, all) : "";
}

bool is_counted(Rate::Unit unit) {
  return unit == Rate::Unit::frames || unit == Rate::Unit::messages;
}

Plot plot_of(Rate::Unit rate, RatePlot flows, std::size_t all) {
  double most = 0;
  for (const auto* values : {&flows.requested, &flows.measured})
    for (const double value : *values) most = std::max(most, value);
  report::PlotUnit unit = report::rate_unit(most);
  if (is_counted(rate)) unit = {std::string(name_of(rate)), 1};
  const std::string suffix = rate == Rate::Unit::goodput     ? " of payload"
                             : rate == Rate::Unit::wire_bits ? " on the wire"
                                                             : "";
  Plot plot{.title = "Rate by flow" + of_flows(flows.flows.size(), all),
            .x = {.label = "flow",
                  .scale = report::PlotAxis::Scale::category,
                  .categories = std::move(flows.flows)},
            .y = {.label = "rate, " + unit.name + suffix},
            .curves = {points_at("requested", flows.requested, unit.size),
                       points_at("measured", flows.measured, unit.size)}};
  plot.curves.front().reference = true;
  return plot;
}

std::vector<Plot> rate_plots(const RunReport& run, const config::FlowProfile& profile) {
  std::map<Rate::Unit, RatePlot> by_unit;
  std::map<Rate::Unit, std::size_t> counts;
  for (std::size_t i = 0; i < run.flows.size(); i += profile.flows[i].qps) {
    const config::Flow& flow = profile.flows[i];
    RatePlot& plot = by_unit[flow.rate.unit];
    if (++counts[flow.rate.unit] > kMostBars) continue;
    double measured = 0;
    for (std::size_t qp = 0; qp < flow.qps; ++qp)
      measured += run.flows[i + qp].achieved(flow.rate.unit);
    plot.flows.push_back(flow.name);
    plot.requested.push_back(flow.rate.value * flow.qps);
    plot.measured.push_back(measured);
  }
  std::vector<Plot> plots;
  for (auto& [unit, flows] : by_unit)
    plots.push_back(plot_of(unit, std::move(flows), counts[unit]));
  return plots;
}

/// Returns the latencies of each flow; of all flows together if there are many.
std::vector<NamedBuckets> latencies_of(const Measurement& measurement, const FlowNames& names) {
  std::vector<NamedBuckets> parts;
  Histogram all;
  for (const ReceiveFlow& flow : measurement.flows()) {
    if (!flow.signature || flow.signature->latency.count() == 0) continue;
    if (!measurement.latency_doubt(flow).empty()) continue;
    all.merge(flow.signature->latency);
    if (parts.size() <= kMostHistograms)
      parts.push_back({name_of(flow, names), flow.signature->latency.occupied()});
  }
  if (parts.size() <= kMostHistograms) return parts;
  return {{"all flows", all.occupied()}};
}

Plot order_plot(const Measurement& measurement, const FlowNames& names) {
  std::vector<std::string> flows;
  std::vector<double> lost, duplicated, reordered;
  for (const ReceiveFlow& flow : measurement.flows()) {
    if (flows.size() == kMostBars) break;
    flows.push_back(name_of(flow, names));
    lost.push_back(static_cast<double>(flow.order.lost));
    duplicated.push_back(static_cast<double>(flow.order.duplicated));
    reordered.push_back(static_cast<double>(flow.order.out_of_order));
  }
  if (flows.empty()) return {};
  return {.title = "Loss and order by flow" + of_flows(flows.size(), measurement.flows().size()),
          .x = {.label = "flow",
                .scale = report::PlotAxis::Scale::category,
                .categories = std::move(flows)},
          .y = {.label = "frames"},
          .curves = {points_at("lost", lost, 1), points_at("duplicated", duplicated, 1),
                     points_at("out of order", reordered, 1)}};
}

}  // namespace

std::vector<Plot> sent_plots(const RunReport& run, const config::FlowProfile& profile) {
  std::vector<Plot> plots = rate_plots(run, profile);
  const NamedBuckets bursts{"bursts", run.audit.pacing_error.occupied()};
  plots.push_back(report::time_histogram("Pacing error: how late bursts left", "pacing error",
                                         std::span(&bursts, 1)));
  return plots;
}

std::vector<Plot> received_plots(const Measurement& measurement, const FlowNames& names) {
  return {report::time_histogram("Latency by flow", "latency", latencies_of(measurement, names)),
          order_plot(measurement, names)};
}

}  // namespace lw::gen
