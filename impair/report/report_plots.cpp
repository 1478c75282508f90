// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/report_plots.h"

#include <algorithm>

#include "impair/report/rule_report.h"
#include "report/plot_curves.h"

namespace lw::impair {
namespace {

using report::NamedBuckets;
using report::Plot;
using report::PlotCurve;
using Scale = report::PlotAxis::Scale;

constexpr std::size_t kMostPlottedRules = 32;

/// Converts cumulative counts to buckets: each has the values in (previous limit, limit].
std::vector<Histogram::Bucket> buckets_of(const Spread& spread) {
  std::vector<Histogram::Bucket> buckets;
  std::int64_t first = std::max<std::int64_t>(spread.minimum, 0);
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < spread.up_to.size(); ++i) {
    const std::int64_t last = std::min(Spread::kLimits[i], spread.maximum);
    if (spread.up_to[i] > before) buckets.push_back({first, last, spread.up_to[i] - before});
    before = spread.up_to[i];
    first = std::max(first, Spread::kLimits[i] + 1);
  }
  if (spread.count > before) buckets.push_back({first, spread.maximum, spread.count - before});
  return buckets;
}

/// Step curve of the buckets, which end at 1, 2 and 5 times a power of ten.
PlotCurve coarse_curve(const std::string& name, const Spread& spread, double unit) {
  PlotCurve curve{.name = name, .points = {}, .marked = false};
  const auto add = [&](double ns, double share) {
    curve.points.push_back({std::max(ns, 1.0) / unit, share, {}, {}});
  };
  double before = 0, end = 0;
  for (const Histogram::Bucket& bucket : buckets_of(spread)) {
    const double share =
        100 * static_cast<double>(bucket.count) / static_cast<double>(spread.count);
    const auto begin = static_cast<double>(bucket.first);
    if (!curve.points.empty() && begin > end + 1) {
      add(end, 0);
      before = 0;
    }
    add(begin, before);
    add(begin, share);
    end = static_cast<double>(bucket.last + 1);
    add(end, share);
    before = share;
  }
  if (!curve.points.empty()) add(end, 0);
  return curve;
}

Plot spread_plot(const Report& report, std::string title, const std::string& what,
                 Spread DirectionReport::* spread) {
  double most = 0;
  for (const DirectionReport& each : report.directions)
    most = std::max(most, static_cast<double>((each.*spread).maximum));
  const report::PlotUnit unit = report::time_unit(most);
  Plot plot{.title = std::move(title),
            .x = {.label = what + ", " + unit.name, .scale = Scale::log},
            .y = {.label = "share of the frames per step, %"},
            .curves = {}};
  for (const DirectionReport& each : report.directions)
    if ((each.*spread).count > 0)
      plot.curves.push_back(coarse_curve(each.accounting.direction.name, each.*spread, unit.size));
  return plot;
}

Plot delay_plot(const Report& report) {
  std::vector<NamedBuckets> parts;
  for (const DirectionReport& each : report.directions)
    parts.push_back({each.accounting.direction.name, each.delays});
  return report::time_histogram("Delay by direction", "delay", parts);
}

/// Plots the loss of each rule in %, requested and measured.
Plot loss_plot(const Report& report) {
  Plot plot{.title = "Loss by rule",
            .x = {.label = "direction, rule", .scale = Scale::category},
            .y = {.label = "lost frames, %"},
            .curves = {{.name = "requested", .points = {}, .reference = true, .joined = false},
                       {.name = "measured (bar: allowed)", .points = {}, .joined = false}}};
  for (const DirectionReport& direction : report.directions)
    for (const StagesReport& stages : direction.stages)
      for (const emulator::Check& check : stages.checks) {
        if (check.what != "lost" || plot.x.categories.size() == kMostPlottedRules) continue;
        const auto x = static_cast<double>(plot.x.categories.size());
        plot.x.categories.push_back(direction.accounting.direction.name + ", " + stages.rule);
        plot.curves[0].points.push_back({x, 100 * check.asked, {}, {}});
        plot.curves[1].points.push_back({x, 100 * check.seen, 100 * check.low, 100 * check.high});
      }
  if (plot.x.categories.empty()) plot.curves.clear();
  return plot;
}

/// Plots frames by disposition.
Plot disposition_plot(const Report& report) {
  Plot plot{.title = "Frames by rule",
            .x = {.label = "direction, rule", .scale = Scale::category},
            .y = {.label = "frames"},
            .curves = {{.name = "received", .points = {}, .joined = false},
                       {.name = "sent", .points = {}, .joined = false},
                       {.name = "dropped by the rule", .points = {}, .joined = false}}};
  for (const DirectionReport& direction : report.directions)
    for (const emulator::Account& rule : direction.accounting.rules) {
      if (rule.received.frames == 0 || plot.x.categories.size() == kMostPlottedRules) continue;
      const auto x = static_cast<double>(plot.x.categories.size());
      plot.x.categories.push_back(direction.accounting.direction.name + ", " +
                                  shown_name(rule.name));
      const emulator::Amount* const amounts[] = {&rule.received, &rule.sent, &rule.dropped_by_rule};
      for (std::size_t i = 0; i < std::size(amounts); ++i)
        plot.curves[i].points.push_back({x, static_cast<double>(amounts[i]->frames), {}, {}});
    }
  if (plot.x.categories.empty()) plot.curves.clear();
  return plot;
}

/// Plots the highest fill of each rule's queue.
Plot queue_plot(const Report& report) {
  Plot plot{.title = "Highest fill of the queues",
            .x = {.label = "direction, rule", .scale = Scale::category},
            .y = {.label = "bytes that waited, kB"},
            .curves = {{.name = "highest fill", .points = {}, .joined = false}}};
  for (const DirectionReport& direction : report.directions)
    for (const StagesReport& stages : direction.stages) {
      const std::uint64_t peak = stages.stats.peak_queue_bytes;
      if (peak == 0 || plot.x.categories.size() == kMostPlottedRules) continue;
      const auto x = static_cast<double>(plot.x.categories.size());
      plot.x.categories.push_back(direction.accounting.direction.name + ", " + stages.rule);
      plot.curves[0].points.push_back({x, static_cast<double>(peak) / 1e3, {}, {}});
    }
  if (plot.x.categories.empty()) plot.curves.clear();
  return plot;
}

}  // namespace

report::RateHistory rate_history(Duration interval) {
  using Unit = report::RateHistory::Unit;
  return report::RateHistory({{.title = "Rate over time",
                               .what = "rate of whole frames",
                               .counters = {"west to east, in", "west to east, out",
                                            "east to west, in", "east to west, out"}},
                              {.title = "Dropped by rules over time",
                               .what = "dropped",
                               .unit = Unit::frames,
                               .counters = {"west to east", "east to west"}}},
                             interval);
}

void add_sample(report::RateHistory& history, Duration elapsed,
                const emulator::AccountCounters& eastward,
                const emulator::AccountCounters& westward) {
  const std::uint64_t totals[] = {
      eastward.received.bytes.get(),         eastward.sent.bytes.get(),
      westward.received.bytes.get(),         westward.sent.bytes.get(),
      eastward.dropped_by_rule.frames.get(), westward.dropped_by_rule.frames.get()};
  history.add(elapsed, totals);
}

std::vector<Plot> plots_of(const Report& report) {
  return {delay_plot(report),
          spread_plot(report, "Release error by direction", "later than scheduled",
                      &DirectionReport::release_error),
          spread_plot(report, "Passing through by direction, of frames that no rule delays",
                      "time in the box", &DirectionReport::pass_latency),
          loss_plot(report),
          queue_plot(report),
          disposition_plot(report)};
}

}  // namespace lw::impair
