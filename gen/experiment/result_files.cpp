// SPDX-License-Identifier: BSD-3-Clause
#include "gen/experiment/result_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "report/figures/json.h"
#include "report/plot.h"
#include "report/table.h"

namespace lw::gen::experiment {
namespace {

using config::ExperimentPlot;
using config::ExperimentScenario;
using report::Align;
using report::Json;
using report::PlotCurve;
using report::PlotPoint;

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::vector<std::string> parameters_of(const ExperimentResults& results) {
  std::vector<std::string> names;
  for (const Cell& cell : results.cells)
    for (const auto& [name, value] : cell.point) add_new(names, name);
  return names;
}

/// Returns the names of all figures: numbers and words that are not parameters. Series have their
/// own files.
std::vector<std::string> figures_of(const ExperimentResults& results,
                                    const std::vector<std::string>& parameters) {
  std::vector<std::string> names;
  for (const auto& runs : results.runs)
    for (const Json& run : runs)
      for (const auto& [name, value] : run.items()) {
        const bool parameter = std::ranges::find(parameters, name) != parameters.end();
        if (!parameter && !value.is_array()) add_new(names, name);
      }
  return names;
}

bool spreads(const ExperimentResults& results) {
  return std::ranges::any_of(results.cells, [](const Cell& cell) { return cell.repeats > 1; });
}

void append(std::string& csv, const std::string& field) {
  csv += ',';
  csv += report::csv_field(field);
}

void append_figure(std::string& csv, const ExperimentResults& results, std::size_t cell,
                   const std::string& name, bool spread) {
  const auto figure = results.figure(cell, name);
  append(csv, figure ? fmt::to_string(figure->average) : results.words(cell, name));
  if (!spread) return;
  append(csv, figure ? fmt::to_string(figure->min) : std::string());
  append(csv, figure ? fmt::to_string(figure->max) : std::string());
}

std::string premises(const config::ExperimentProfile& profile) {
  if (profile.premises.empty()) return "";
  report::TextTable table({{"parameter"}, {"value"}, {"basis"}, {"why"}});
  for (const auto& p : profile.premises) table.add_row({p.parameter, p.value, p.basis, p.why});
  return "\nWhat the figures rest on\n" + table.to_string(2);
}

/// Formats a figure over its repeats: one number, or minimum, average and maximum.
std::string spread_text(const ExperimentResults& results, std::size_t cell,
                        const std::string& name) {
  const auto figure = results.figure(cell, name);
  if (!figure || results.cells[cell].repeats == 1 || figure->min == figure->max)
    return results.words(cell, name);
  return fmt::format("{} {} {}", number(figure->min), number(figure->average), number(figure->max));
}

std::string scenario_table(const ExperimentResults& results, std::size_t index) {
  const ExperimentScenario& scenario = results.profile.scenarios[index];
  const auto cells = results.cells_of(index);
  if (scenario.show.empty() || cells.empty()) return "";
  const auto parameters = swept(scenario, results.changes);
  std::vector<report::TextTable::Column> columns;
  for (const std::string& name : parameters) columns.push_back({name, Align::right});
  for (const std::string& name : scenario.show) columns.push_back({name, Align::right});
  report::TextTable table(std::move(columns));
  for (const std::size_t cell : cells) {
    std::vector<std::string> row;
    for (const std::string& name : parameters) row.push_back(results.words(cell, name));
    for (const std::string& name : scenario.show) row.push_back(spread_text(results, cell, name));
    table.add_row(std::move(row));
  }
  return table.to_string(2);
}

/// Explains why there are fewer runs than the requested repeats.
std::string unrepeated(const ExperimentResults& results, const ExperimentScenario& scenario,
                       const std::vector<std::size_t>& cells) {
  const auto once = std::ranges::count_if(
      cells, [&](std::size_t cell) { return results.cells[cell].repeats == 1; });
  if (scenario.repeats == 1 || once == 0 || results.changes.repeats == 1) return "";
  if (static_cast<std::size_t>(once) == cells.size())
    return fmt::format(
        "  ({} repeats asked for; nothing here is by chance: each would be the same run)\n",
        scenario.repeats);
  return fmt::format(
      "  ({} repeats asked for; in {} of {} cells nothing is by chance: each would be the same "
      "run)\n",
      scenario.repeats, once, cells.size());
}

report::PlotAxis axis_of(const std::string& label, config::AxisScale scale) {
  using Scale = report::PlotAxis::Scale;
  return {label, scale == config::AxisScale::log      ? Scale::log
                 : scale == config::AxisScale::binary ? Scale::binary
                                                      : Scale::linear};
}

PlotCurve& curve_named(std::vector<PlotCurve>& curves, const std::string& name) {
  const auto found = std::ranges::find(curves, name, &PlotCurve::name);
  if (found != curves.end()) return *found;
  return curves.emplace_back(PlotCurve{.name = name, .points = {}});
}

/// Returns the name of a curve, the values of the parameters that distinguish curves: "WRITE,
/// adaptive".
std::string curve_name(const ExperimentResults& results, const ExperimentPlot& plot,
                       std::size_t cell) {
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

bool is_wanted(const ExperimentResults& results, const ExperimentPlot& plot, std::size_t cell) {
  const std::string& name = results.profile.scenarios[results.cells[cell].scenario].name;
  for (const auto& [parameter, value] : plot.only)
    if (!same_value(results.words(cell, parameter), value)) return false;
  return plot.scenarios.empty() || std::ranges::find(plot.scenarios, name) != plot.scenarios.end();
}

/// Adds a cell as a point of a curve.
void add_cell(std::vector<PlotCurve>& curves, const ExperimentResults& results,
              const ExperimentPlot& plot, std::size_t cell) {
  const auto x = results.figure(cell, plot.x), y = results.figure(cell, plot.y);
  if (!x || !y) return;
  curve_named(curves, curve_name(results, plot, cell))
      .points.push_back({x->average, y->average, y->min, y->max});
}

/// Adds curves with the samples of the first repeat as points. Samples with a "flow" make one curve
/// per flow.
void add_samples(std::vector<PlotCurve>& curves, const ExperimentResults& results,
                 const ExperimentPlot& plot, std::size_t cell) {
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
  const ExperimentResults& results = outcome.results;
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

std::string to_csv(const Outcome& outcome) {
  const ExperimentResults& results = outcome.results;
  const auto parameters = parameters_of(results);
  const auto figures = figures_of(results, parameters);
  const bool spread = spreads(results);
  std::string csv = "scenario";
  for (const std::string& name : parameters) append(csv, name);
  append(csv, "repeats");
  for (const std::string& name : figures) {
    append(csv, name);
    if (!spread) continue;
    append(csv, name + "_min");
    append(csv, name + "_max");
  }
  csv += '\n';
  for (std::size_t cell = 0; cell < results.cells.size(); ++cell) {
    csv += report::csv_field(results.profile.scenarios[results.cells[cell].scenario].name);
    for (const std::string& name : parameters) {
      const std::string* value = results.cells[cell].find(name);
      append(csv, value ? *value : std::string());
    }
    append(csv, fmt::to_string(results.cells[cell].repeats));
    for (const std::string& name : figures) append_figure(csv, results, cell, name, spread);
    csv += '\n';
  }
  return csv;
}

namespace {

const FigureTable& premise_figures() {
  using config::ExperimentPremise;
  using Row = FigureOf<ExperimentPremise>;
  static constexpr Figure kRows[] = {
      Row::of<&ExperimentPremise::parameter>("parameter", "Parameter."),
      Row::of<&ExperimentPremise::value>("value", "Its value, with the unit."),
      Row::of<&ExperimentPremise::basis>(
          "basis", "How it is known: measured, published, assumed or calibrated."),
      Row::of<&ExperimentPremise::why>("why", "Source or reason.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

/// A cell and its runs.
struct CellRow {
  const ExperimentResults& results;
  std::size_t index;

  [[nodiscard]] const Cell& cell() const { return results.cells[index]; }
  [[nodiscard]] const std::string& scenario() const {
    return results.profile.scenarios[cell().scenario].name;
  }
  [[nodiscard]] std::vector<std::uint64_t> seeds() const {
    std::vector<std::uint64_t> seeds;
    for (std::uint32_t repeat = 0; repeat < cell().repeats; ++repeat)
      seeds.push_back(results.seed_of({index, repeat}));
    return seeds;
  }
  [[nodiscard]] std::vector<JsonText> runs() const {
    std::vector<JsonText> runs;
    for (const Json& run : results.runs[index]) runs.push_back({report::json_line(run)});
    return runs;
  }
  static const FigureTable& figures() {
    using Row = FigureOf<CellRow>;
    static constexpr Figure kRows[] = {
        Row::of<&CellRow::scenario>("scenario", "Name of the scenario."),
        Row::of<[](const CellRow& row) -> const auto& { return row.cell().point; }>(
            "parameters", "Parameters of the cell, as written in the profile."),
        Row::of<[](const CellRow& row) { return row.cell().work.by_chance; }>(
            "by_chance", "True if the runs differ by their seeds."),
        Row::of<&CellRow::seeds>("seeds", "Seed of each run."),
        Row::of<&CellRow::runs>("runs",
                                "Runs of the cell, in the order of the seeds: settings and figures "
                                "by name; a series of "
                                "samples is an array. `failure` is why a run failed.")};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

/// A published figure beside ours.
struct ComparedRow {
  const Compared& compared;
  const ExperimentScenario& scenario;

  [[nodiscard]] const std::string& column() const { return compared.name; }
  [[nodiscard]] std::optional<bool> agrees() const {
    if (compared.difference) return std::nullopt;
    return compared.agrees;
  }
  static const FigureTable& figures() {
    using Row = FigureOf<ComparedRow>;
    static constexpr Figure kRows[] = {
        Row::of<[](const ComparedRow& row) -> const auto& { return row.compared.row; }>(
            "row", "Row of the published table."),
        Row::of<&ComparedRow::column>("column", "Column of the published table."),
        Row::of<[](const ComparedRow& row) -> const auto& { return row.compared.published; }>(
            "published", "Published value."),
        Row::of<[](const ComparedRow& row) -> const auto& { return row.compared.ours; }>(
            "ours", "Value of this experiment."),
        Row::of<[](const ComparedRow& row) { return row.compared.holds; }>(
            "holds", "True if the two agree as closely as the profile asks."),
        Row::of<[](const ComparedRow& row) { return row.compared.difference; }>(
            "difference", "Relative difference: (ours - published) / published."),
        Row::of<&ComparedRow::agrees>("agrees", "For words: true if they are equal."),
        Row::of<[](const ComparedRow& row) -> const auto& { return row.compared.remark; }>(
            "remark", "Remark of the profile.")
            .if_any(),
        Row::of<[](const ComparedRow& row) -> const auto& { return row.scenario.name; }>(
            "scenario", "Name of the scenario.")};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

std::vector<CellRow> cell_rows(const Outcome& outcome) {
  std::vector<CellRow> rows;
  for (std::size_t i = 0; i < outcome.results.cells.size(); ++i)
    rows.push_back({outcome.results, i});
  return rows;
}

std::vector<ComparedRow> compared_rows(const Outcome& outcome) {
  std::vector<ComparedRow> rows;
  for (std::size_t i = 0; i < outcome.compared.size(); ++i)
    for (const Compared& compared : outcome.compared[i])
      rows.push_back({compared, outcome.results.profile.scenarios[i]});
  return rows;
}

}  // namespace

const FigureTable& Outcome::figures() {
  using Row = FigureOf<Outcome>;
  static constexpr Figure kRows[] = {
      Row::of<[](const Outcome& o) -> const auto& { return o.results.profile.name; }>(
          "name", "Name of the experiment."),
      Row::of<[](const Outcome& o) -> const auto& { return o.results.profile.title; }>(
          "title", "Title of the experiment."),
      Row::of<[](const Outcome& o) { return o.results.profile.seed; }>("seed",
                                                                       "Seed of the experiment."),
      Row::of<[](const Outcome& o) { return o.results.changes.full; }>(
          "full", "True if --full was passed."),
      Row::list_with_table<[](const Outcome& o) -> const auto& {
        return o.results.profile.premises;
      },
                           premise_figures>("premises", "What the figures rest on."),
      Row::of<cell_rows>("cells", "Finished cells."),
      Row::of<compared_rows>("comparisons", "Published figures beside those of this experiment."),
      Row::of<[](const Outcome& o) { return o.results.missing != 0; }>(
          "incomplete", "True if a signal ended the experiment early; absent otherwise.")
          .if_any(),
      Row::of<[](const Outcome& o) { return o.results.missing; }>(
          "missing_cells", "Cells that are not finished; absent if all are.")
          .if_any()};
  static constexpr FigureTable kTable{
      "Runs of an experiment, and the published figures beside them.", kRows};
  return kTable;
}

void observe_experiment(Judge& judge, const Outcome& outcome) {
  const ExperimentResults& results = outcome.results;
  std::size_t runs = 0, compared = 0, far = 0;
  for (const auto& cell : results.runs) runs += cell.size();
  const std::size_t failed = failed_runs(results).size();
  judge.add({.name = "failed",
             .value = static_cast<double>(failed),
             .text = failed == 0 ? fmt::format("{} succeeded", format_count(runs, "run"))
                                 : fmt::format("{} of {} failed", failed, counted(runs, "run")),
             .count = runs,
             .remedy = "--pcap-failures DIR writes their packets"});
  for (const auto& scenario : outcome.compared)
    for (const Compared& each : scenario) {
      ++compared;
      far += each.holds ? 0 : 1;
    }
  if (compared > 0)
    judge.add(
        {.name = "published",
         .value = static_cast<double>(far),
         .text = fmt::format("{} of {} figures are further from the published ones than asked "
                             "for",
                             far, compared),
         .count = compared});
  const std::size_t cells = results.cells.size() + results.missing;
  judge.add({.name = "reached",
             .value = cells == 0
                          ? 1
                          : static_cast<double>(results.cells.size()) / static_cast<double>(cells),
             .text = fmt::format("{} of {} done", results.cells.size(), counted(cells, "cell")),
             .count = cells,
             .broken = "a signal ended the experiment",
             .remedy = "--resume continues"});
}

report::RunRows page_rows(const Outcome& outcome) {
  const ExperimentResults& results = outcome.results;
  report::RunRows rows;
  for (std::size_t i = 0; i < outcome.compared.size(); ++i)
    for (const Compared& each : outcome.compared[i]) {
      const ExperimentScenario& scenario = results.profile.scenarios[i];
      rows.requested.push_back(
          {.what = fmt::format("{}: {}", scenario.name,
                               place_of(results, scenario, outcome.compared[i], each)),
           .requested = each.published,
           .measured = each.ours,
           .holds = each.holds,
           .difference = each.difference,
           .remark = each.remark});
    }
  // The worst first: outside of what the profile asks for, then by distance.
  std::ranges::stable_sort(rows.requested, {}, [](const report::RequestedRow& row) {
    return std::pair(row.holds.value_or(true), -std::abs(row.difference.value_or(0)));
  });
  return rows;
}

std::string to_json(const Outcome& outcome) {
  return report::json_line(kExperimentOutput, outcome);
}

std::string swept_point(const ExperimentResults& results, std::size_t cell) {
  const auto& scenario = results.profile.scenarios[results.cells[cell].scenario];
  std::string text;
  for (const std::string& name : swept(scenario, results.changes))
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, results.words(cell, name));
  return text;
}

std::string to_text(const Outcome& outcome) {
  const ExperimentResults& results = outcome.results;
  const auto& profile = results.profile;
  std::string text = profile.title + "\n";
  if (!profile.note.empty()) text += profile.note + "\n";
  if (results.missing > 0)
    text +=
        fmt::format("INCOMPLETE: {} of {} done, as a signal ended the experiment\n",
                    results.cells.size(), counted(results.cells.size() + results.missing, "cell"));
  text += premises(profile);
  for (std::size_t i = 0; i < profile.scenarios.size(); ++i) {
    const ExperimentScenario& scenario = profile.scenarios[i];
    const auto cells = results.cells_of(i);
    if (cells.empty()) continue;
    text += "\n" + scenario.name + "\n";
    if (!scenario.note.empty()) text += scenario.note + "\n";
    text += unrepeated(results, scenario, cells);
    text += scenario_table(results, i);
    if (outcome.compared[i].empty()) continue;
    text += comparison_table(results, scenario, outcome.compared[i]);
    text += comparison_summary(scenario, outcome.compared[i]);
  }
  return text + failure_table(results);
}

std::vector<Task> failed_runs(const ExperimentResults& results) {
  std::vector<Task> failed;
  for (const Task& task : tasks_of(results.cells))
    if (results.has(task) && !results.failure(task).empty()) failed.push_back(task);
  return failed;
}

std::string failure_table(const ExperimentResults& results) {
  const auto failed = failed_runs(results);
  if (failed.empty()) return "";
  report::TextTable table(
      {{"cell", Align::right}, {"scenario"}, {"swept"}, {"seed", Align::right}, {"reason"}});
  for (const Task& task : failed)
    table.add_row({std::to_string(task.cell + 1),
                   results.profile.scenarios[results.cells[task.cell].scenario].name,
                   swept_point(results, task.cell), std::to_string(results.seed_of(task)),
                   results.failure(task)});
  return fmt::format("\n{} of {} failed\n{}", failed.size(),
                     counted(tasks_of(results.cells).size(), "run"), table.to_string(2));
}

report::Plot to_plot(const Outcome& outcome, const ExperimentPlot& plot) {
  const ExperimentResults& results = outcome.results;
  std::vector<PlotCurve> curves;
  for (std::size_t cell = 0; cell < results.cells.size(); ++cell) {
    if (!is_wanted(results, plot, cell)) continue;
    plot.series.empty() ? add_cell(curves, results, plot, cell)
                        : add_samples(curves, results, plot, cell);
  }
  if (plot.published) add_published(curves, outcome, plot);
  for (PlotCurve& curve : curves)
    if (plot.series.empty()) std::ranges::stable_sort(curve.points, {}, &PlotPoint::x);
  return {.title = plot.title,
          .x = axis_of(plot.x_label, plot.x_scale),
          .y = axis_of(plot.y_label, plot.y_scale),
          .curves = std::move(curves)};
}

std::string to_picture(const Outcome& outcome, const ExperimentPlot& plot) {
  return report::to_svg(to_plot(outcome, plot));
}

}  // namespace lw::gen::experiment
