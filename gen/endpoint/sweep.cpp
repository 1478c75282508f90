// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/sweep.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/output.h"
#include "gen/study/result_files.h"

namespace lw::gen::endpoint {
namespace {

using config::ExperimentProfile, config::AxisScale;
using experiment::Cell, experiment::Outcome, experiment::ExperimentResults;

/// Returns the name of the setting that holds a parameter's value as a number, for plots.
std::string number_of(const std::string& parameter) {
  if (parameter == "size") return "bytes";
  return parameter == "buffers" ? "tx_depth" : parameter;
}

ExperimentProfile profile_of(const Sweep& sweep) {
  ExperimentProfile profile;
  profile.name = sweep.name;
  profile.title = sweep.title;
  config::ExperimentScenario scenario;
  scenario.name = sweep.name;
  scenario.repeats = sweep.repeats;
  for (const SweepParameter& each : sweep.parameters) {
    config::ExperimentParameter parameter{.name = each.name, .at = {}, .values = {}};
    for (const std::string& value : each.values) parameter.values.push_back({value, {}});
    scenario.parameters.push_back(std::move(parameter));
  }
  scenario.show = sweep.figures;
  profile.scenarios.push_back(std::move(scenario));
  for (const std::string& figure : sweep.figures) {
    config::ExperimentPlot plot;
    plot.name = figure;
    plot.title = sweep.title;
    plot.x = number_of(sweep.parameters.front().name);
    plot.y = figure;
    plot.x_label = plot.x;
    plot.y_label = figure;
    plot.x_scale = plot.x == "bytes" ? AxisScale::binary : AxisScale::linear;
    for (std::size_t i = 1; i < sweep.parameters.size(); ++i)
      plot.curves.push_back(sweep.parameters[i].name);
    profile.plots.push_back(std::move(plot));
  }
  return profile;
}

std::vector<Cell> cells_of(const Sweep& sweep) {
  std::vector<SweepPoint> points(1);
  for (const SweepParameter& parameter : sweep.parameters) {
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points)
      for (const std::string& value : parameter.values) {
        longer.push_back(point);
        longer.back().emplace_back(parameter.name, value);
      }
    points = std::move(longer);
  }
  std::vector<Cell> cells;
  for (SweepPoint& point : points)
    cells.push_back(
        {.scenario = 0, .point = std::move(point), .work = {}, .repeats = sweep.repeats});
  return cells;
}

Result<void> run_all(const Sweep& sweep, ExperimentResults& results,
                     const std::atomic<bool>& stop) {
  for (const experiment::Task& task : experiment::tasks_of(results.cells)) {
    if (stop.load(std::memory_order_relaxed)) return fail("interrupted", ExitCode::failed);
    auto values = sweep.run(results.cells[task.cell].point);
    if (!values) return std::unexpected(values.error());
    results.runs[task.cell][task.repeat] = std::move(*values);
  }
  return {};
}

std::string content_of(const Outcome& outcome, const std::string& file) {
  if (file.ends_with(".csv")) return experiment::to_csv(outcome);
  if (file.ends_with(".json")) return experiment::to_json(outcome);
  if (file.ends_with(".txt")) return experiment::to_text(outcome);
  const auto& plots = outcome.results.profile.plots;
  const auto plot = std::ranges::find(plots, std::filesystem::path(file).stem().string(),
                                      &config::ExperimentPlot::name);
  return experiment::to_picture(outcome, *plot);
}

}  // namespace

Parsed<SweepParameter> parse_sweep_parameter(std::string_view text) {
  const std::size_t equals = text.find('=');
  SweepParameter parameter;
  if (equals != std::string_view::npos) {
    parameter.name = text.substr(0, equals);
    std::string_view rest = text.substr(equals + 1);
    while (!rest.empty()) {
      parameter.values.emplace_back(rest.substr(0, rest.find(',')));
      rest.remove_prefix(std::min(rest.size(), parameter.values.back().size() + 1));
      if (parameter.values.back().empty()) parameter.name.clear();
    }
  }
  if (parameter.name.empty() || parameter.values.empty() || text.ends_with(','))
    return std::unexpected(fmt::format(
        "expected PARAMETER=VALUE,VALUE..., such as size=4KiB,64KiB, found \"{}\"", text));
  return parameter;
}

std::vector<std::string> sweep_files(const Sweep& sweep, const std::string& folder) {
  const std::filesystem::path into(folder);
  std::vector<std::string> files;
  for (const char* ending : {".csv", ".json", ".txt"})
    files.push_back(into / (sweep.name + ending));
  for (const std::string& figure : sweep.figures) files.push_back(into / (figure + ".svg"));
  return files;
}

Result<void> run_sweep(const Sweep& sweep, const std::string& folder, const std::atomic<bool>& stop,
                       app::HtmlReport& page) {
  if (auto made = make_folder(folder); !made) return made;
  const ExperimentProfile profile = profile_of(sweep);
  Outcome outcome{.results = ExperimentResults(profile, {}, cells_of(sweep)), .compared = {{}}};
  auto ran = run_all(sweep, outcome.results, stop);
  outcome.results.remove_unfinished();
  if (outcome.results.cells.empty()) return ran;
  page.add_report(experiment::to_json(outcome), experiment::kExperimentOutput,
                  experiment::page_rows(outcome));
  for (const auto& plot : profile.plots) page.add_plot(experiment::to_plot(outcome, plot));
  print_report(experiment::to_text(outcome));
  for (const std::string& file : sweep_files(sweep, folder))
    if (auto wrote = write_file(file, content_of(outcome, file)); !wrote) return wrote;
  print_out(fmt::format("\nwritten to {}\n", folder));
  return ran;
}

}  // namespace lw::gen::endpoint
