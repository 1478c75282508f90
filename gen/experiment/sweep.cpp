// SPDX-License-Identifier: BSD-3-Clause
#include "gen/experiment/sweep.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/output.h"
#include "gen/experiment/result_files.h"

namespace lw::gen {
namespace {

using experiment::Cell, experiment::Outcome, experiment::ExperimentResults;

/// Returns the name of the setting that holds a parameter's value as a number, for plots.
std::string number_of(const std::string& parameter) {
  if (parameter == "size") return "bytes";
  return parameter == "buffers" ? "tx_depth" : parameter;
}

config::ExperimentPlot plot_of(const config::ExperimentScenario& scenario, const std::string& title,
                               const std::string& figure) {
  config::ExperimentPlot plot;
  plot.name = figure;
  plot.title = title;
  plot.x = number_of(scenario.parameters.front().name);
  plot.y = figure;
  plot.x_label = plot.x;
  plot.y_label = figure;
  plot.x_scale = plot.x == "bytes" ? config::AxisScale::binary : config::AxisScale::linear;
  for (std::size_t i = 1; i < scenario.parameters.size(); ++i)
    plot.curves.push_back(scenario.parameters[i].name);
  return plot;
}

std::vector<Cell> cells_of(const config::ExperimentScenario& scenario) {
  std::vector<Cell> cells;
  for (experiment::Point& point : experiment::points_of(scenario.parameters))
    cells.push_back(
        {.scenario = 0, .point = std::move(point), .work = {}, .repeats = scenario.repeats});
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

std::string content_of(const Outcome& outcome, const std::string& file, const std::string& json) {
  if (file.ends_with(".csv")) return experiment::to_csv(outcome);
  if (file.ends_with(".json")) return json;
  if (file.ends_with(".txt")) return experiment::to_text(outcome);
  const auto& plots = outcome.results.profile.plots;
  const auto plot = std::ranges::find(plots, std::filesystem::path(file).stem().string(),
                                      &config::ExperimentPlot::name);
  return experiment::to_picture(outcome, *plot);
}

}  // namespace

Parsed<config::ExperimentParameter> parse_sweep_parameter(std::string_view text) {
  const std::size_t equals = text.find('=');
  config::ExperimentParameter parameter;
  if (equals != std::string_view::npos) {
    parameter.name = text.substr(0, equals);
    std::string_view rest = text.substr(equals + 1);
    while (!rest.empty()) {
      const std::string_view value = rest.substr(0, rest.find(','));
      parameter.values.push_back({std::string(value), {}});
      rest.remove_prefix(std::min(rest.size(), value.size() + 1));
      if (value.empty()) parameter.name.clear();
    }
  }
  if (parameter.name.empty() || parameter.values.empty() || text.ends_with(','))
    return std::unexpected(fmt::format(
        "expected PARAMETER=VALUE,VALUE..., such as size=4KiB,64KiB, found \"{}\"", text));
  return parameter;
}

Sweep::Sweep(std::string name, const std::string& title, config::ExperimentParameters parameters,
             std::uint32_t repeats, std::vector<std::string> figures) {
  config::ExperimentScenario scenario;
  scenario.name = name;
  scenario.repeats = repeats;
  scenario.parameters = std::move(parameters);
  profile.name = std::move(name);
  profile.title = title;
  for (const std::string& figure : figures)
    profile.plots.push_back(plot_of(scenario, title, figure));
  scenario.show = std::move(figures);
  profile.scenarios.push_back(std::move(scenario));
}

std::vector<std::string> Sweep::files(const std::string& folder) const {
  const std::filesystem::path into(folder);
  std::vector<std::string> files;
  for (const char* ending : {".csv", ".json", ".txt"})
    files.push_back(into / (profile.name + ending));
  for (const auto& plot : profile.plots) files.push_back(into / (plot.name + ".svg"));
  return files;
}

Result<void> run_sweep(const Sweep& sweep, const std::string& folder, const std::atomic<bool>& stop,
                       SweepOutputs outputs) {
  if (auto made = make_folder(folder); !made) return made;
  const config::ExperimentProfile& profile = sweep.profile;
  Outcome outcome{.results = ExperimentResults(profile, {}, cells_of(profile.scenarios.front())),
                  .compared = {{}}};
  auto ran = run_all(sweep, outcome.results, stop);
  outcome.results.remove_unfinished();
  if (outcome.results.cells.empty()) return ran;
  Judge judge = outputs.verdicts.judge();
  experiment::observe_experiment(judge, outcome);
  const std::string json = outputs.verdicts.judged(
      judge, true, [&] { return experiment::to_json(outcome); }, profile.name);
  outputs.page.add_report(json, experiment::kExperimentOutput, outputs.verdicts.last(),
                          experiment::page_rows(outcome));
  for (const auto& plot : profile.plots) outputs.page.add_plot(experiment::to_plot(outcome, plot));
  print_report(outputs.verdicts.text() + experiment::to_text(outcome));
  for (const std::string& file : sweep.files(folder))
    if (auto wrote = write_file(file, content_of(outcome, file, json)); !wrote) return wrote;
  print_out(fmt::format("\nwritten to {}\n", folder));
  return ran;
}

}  // namespace lw::gen
