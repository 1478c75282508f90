// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "gen/study/result_files.h"
#include "report/plot.h"

namespace lw::gen::experiment {
namespace {

using config::ExperimentPlot;
using report::PlotCurve;
using report::PlotPoint;

report::PlotAxis axis_of(const std::string& label, config::PlotScale scale) {
  using Scale = report::PlotAxis::Scale;
  return {label, scale == config::PlotScale::log      ? Scale::log
                 : scale == config::PlotScale::binary ? Scale::binary
                                                      : Scale::linear};
}

PlotCurve& curve_named(std::vector<PlotCurve>& curves, const std::string& name) {
  const auto found = std::ranges::find(curves, name, &PlotCurve::name);
  if (found != curves.end()) return *found;
  return curves.emplace_back(PlotCurve{.name = name, .points = {}});
}

/// "WRITE, adaptive": the values of the parameters that tell curves apart.
std::string curve_name(const Results& results, const ExperimentPlot& plot, std::size_t cell) {
  std::string name;
  for (const std::string& parameter : plot.curves) {
    std::string word = parameter == "scenario"
                           ? results.profile.scenarios[results.cells[cell].scenario].name
                           : results.words(cell, parameter);
    if (word == "true") word = parameter;
    if (word == "false") word = "no " + parameter;
    if (word.empty()) continue;
    name += (name.empty() ? "" : ", ") + word;
  }
  return name.empty() ? plot.y : name;
}

bool is_wanted(const Results& results, const ExperimentPlot& plot, std::size_t cell) {
  const std::string& name = results.profile.scenarios[results.cells[cell].scenario].name;
  for (const auto& [parameter, value] : plot.only)
    if (results.words(cell, parameter) != value) return false;
  return plot.scenarios.empty() || std::ranges::find(plot.scenarios, name) != plot.scenarios.end();
}

/// A curve's points are the cells.
void add_cell(std::vector<PlotCurve>& curves, const Results& results, const ExperimentPlot& plot,
              std::size_t cell) {
  const auto x = results.figure(cell, plot.x), y = results.figure(cell, plot.y);
  if (!x || !y) return;
  curve_named(curves, curve_name(results, plot, cell))
      .points.push_back({x->average, y->average, y->min, y->max});
}

/// A curve's points are the samples of one run, the first repeat; samples that say whose they are
/// ("flow") make a curve each.
void add_samples(std::vector<PlotCurve>& curves, const Results& results, const ExperimentPlot& plot,
                 std::size_t cell) {
  const report::Json& run = results.runs[cell].front();
  const auto series = run.find(plot.series);
  if (series == run.end() || !series->is_array()) return;
  for (const report::Json& sample : *series) {
    if (!sample.contains(plot.x) || !sample.contains(plot.y)) continue;
    std::string name = curve_name(results, plot, cell);
    if (sample.contains("flow"))
      name += fmt::format("{}flow {}", name.empty() ? "" : ", ", sample["flow"].get<int>());
    PlotCurve& curve = curve_named(curves, name);
    curve.marked = false;
    curve.points.push_back({sample[plot.x].get<double>(), sample[plot.y].get<double>(), {}, {}});
  }
}

void add_published(std::vector<PlotCurve>& curves, const Outcome& outcome,
                   const ExperimentPlot& plot) {
  const Results& results = outcome.results;
  for (std::size_t s = 0; s < outcome.compared.size(); ++s) {
    for (const Compared& compared : outcome.compared[s]) {
      const auto& asked = results.profile.scenarios[s].compare->columns[compared.column];
      const bool same = asked.ours == plot.y || asked.ours == plot.y + ".max";
      const auto x = results.figure(compared.cell, plot.x);
      double y = 0;
      const auto& text = compared.published;
      const auto read = std::from_chars(text.data(), text.data() + text.size(), y);
      if (!same || !x || read.ec != std::errc() || !is_wanted(results, plot, compared.cell))
        continue;
      PlotCurve& curve =
          curve_named(curves, "published: " + curve_name(results, plot, compared.cell));
      curve.reference = true;
      curve.points.push_back({x->average, y, {}, {}});
    }
  }
}

}  // namespace

std::string to_picture(const Outcome& outcome, const ExperimentPlot& plot) {
  const Results& results = outcome.results;
  std::vector<PlotCurve> curves;
  for (std::size_t cell = 0; cell < results.cells.size(); ++cell) {
    if (!is_wanted(results, plot, cell)) continue;
    plot.series.empty() ? add_cell(curves, results, plot, cell)
                        : add_samples(curves, results, plot, cell);
  }
  if (plot.published) add_published(curves, outcome, plot);
  for (PlotCurve& curve : curves)
    if (plot.series.empty()) std::ranges::stable_sort(curve.points, {}, &PlotPoint::x);
  return report::to_svg({.title = plot.title,
                         .x = axis_of(plot.x_label, plot.x_scale),
                         .y = axis_of(plot.y_label, plot.y_scale),
                         .curves = std::move(curves)});
}

}  // namespace lw::gen::experiment
