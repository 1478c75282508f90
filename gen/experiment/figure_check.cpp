// SPDX-License-Identifier: BSD-3-Clause
#include "gen/experiment/figure_check.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/names.h"
#include "gen/experiment/run_kind.h"

namespace lw::gen::experiment {
namespace {

using config::ExperimentPlot;
using config::ExperimentScenario;
using Names = std::set<std::string, std::less<>>;

/// Collects the errors.
class FigureCheck {
 public:
  FigureCheck(const config::ExperimentProfile& profile, const Changes& changes)
      : profile_(profile), changes_(changes) {}

  void check(const ExperimentScenario& scenario) {
    const Names names = names_of(scenario);
    for (const std::string& name : scenario.show) check(name, names, scenario.at, "show");
    if (!scenario.compare) return;
    for (const auto& column : scenario.compare->columns)
      check(without_end(column.ours), names, scenario.compare->at, "ours");
  }
  void check(const ExperimentPlot& plot) {
    Names names, parameters, series;
    for (const ExperimentScenario& scenario : profile_.scenarios) {
      const bool drawn = plot.scenarios.empty() ||
                         std::ranges::find(plot.scenarios, scenario.name) != plot.scenarios.end();
      if (!drawn) continue;
      names.merge(plot.series.empty() ? names_of(scenario) : values_of(scenario, plot.series));
      parameters.merge(parameters_of(scenario));
      series.merge(series_of(scenario));
    }
    if (!plot.series.empty())
      check(plot.series, series, plot.at, "series", "the runs have no series");
    if (!names.empty()) {  // else the error is that of the series
      check(plot.x, names, plot.at, "x");
      check(plot.y, names, plot.at, "y");
    }
    for (const auto& [name, value] : plot.only)
      check(name, parameters, plot.at, "only", "the runs have no parameter");
    parameters.insert("scenario");
    for (const std::string& name : plot.curves)
      check(name, parameters, plot.at, "curves", "the runs have no parameter");
  }
  [[nodiscard]] Result<void> result() const {
    if (errors_.empty()) return {};
    return fail(fmt::format("{}", fmt::join(errors_, "\n")));
  }

 private:
  /// "figure" of "figure.min".
  static std::string without_end(const std::string& name) {
    for (const std::string_view end : {".min", ".max", ".avg"})
      if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
    return name;
  }
  /// Figures and parameters of a scenario's runs.
  [[nodiscard]] Names names_of(const ExperimentScenario& scenario) const {
    Names names = parameters_of(scenario);
    const report::Json figures = make_run_kind(scenario.run)->figures();
    for (const auto& [name, value] : figures.items())
      if (!value.is_array()) names.insert(name);
    return names;
  }
  /// Parameters of a scenario's runs.
  [[nodiscard]] Names parameters_of(const ExperimentScenario& scenario) const {
    Names names;
    for (const auto* parameters : {&scenario.parameters, &scenario.full})
      for (const auto& parameter : *parameters) names.insert(parameter.name);
    for (const auto& [name, value] : changes_.set) names.insert(name);
    return names;
  }
  /// Names of the samples that a scenario's runs have.
  static Names series_of(const ExperimentScenario& scenario) {
    Names names;
    const report::Json figures = make_run_kind(scenario.run)->figures();
    for (const auto& [name, value] : figures.items())
      if (value.is_array()) names.insert(name);
    return names;
  }
  /// Values of the samples of a name; none if the runs do not have them.
  static Names values_of(const ExperimentScenario& scenario, const std::string& series) {
    Names names;
    const report::Json figures = make_run_kind(scenario.run)->figures();
    const auto samples = figures.find(series);
    if (samples == figures.end() || !samples->is_array()) return names;
    for (const auto& [name, value] : samples->front().items()) names.insert(name);
    return names;
  }
  void check(const std::string& name, const Names& names, config::FilePosition at, const char* key,
             const char* mistake = "the runs have no figure or parameter") {
    if (names.contains(name)) return;
    const std::vector<std::string_view> all(names.begin(), names.end());
    const std::string_view near = nearest(name, all);
    const std::string right = !near.empty() ? fmt::format(": did you mean \"{}\"?", near)
                              : all.empty()
                                  ? ""
                                  : fmt::format(": expected one of {}", fmt::join(all, ", "));
    errors_.push_back(fmt::format("{}:{}:{}: {}: {} \"{}\"{}", profile_.file, at.line, at.column,
                                  key, mistake, name, right));
  }

  const config::ExperimentProfile& profile_;
  const Changes& changes_;
  std::vector<std::string> errors_;
};

}  // namespace

Result<void> check_figures(const config::ExperimentProfile& profile, const Changes& changes) {
  FigureCheck check(profile, changes);
  for (const ExperimentScenario& scenario : profile.scenarios) check.check(scenario);
  for (const ExperimentPlot& plot : profile.plots) check.check(plot);
  return check.result();
}

}  // namespace lw::gen::experiment
