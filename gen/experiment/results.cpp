// SPDX-License-Identifier: BSD-3-Clause
#include "gen/experiment/results.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "config/experiment/profile.h"
#include "core/names.h"

namespace lw::gen::experiment {
namespace {

using config::ExperimentParameter;
using config::ExperimentParameters;
using config::ExperimentScenario;
using config::ExperimentValue;

std::string option_of(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

struct Prepared {
  std::unique_ptr<RunKind> kind;
  app::Options options;
};
Prepared prepare(const std::string& run) {
  Prepared prepared{make_run_kind(run), {}};
  if (prepared.kind) prepared.kind->add_options(prepared.options);
  return prepared;
}

std::string unknown(const app::Options& options, const std::string& name) {
  std::vector<std::string> names;
  for (const app::Option& option : options) {
    names.push_back(option.name().substr(2));
    std::ranges::replace(names.back(), '-', '_');
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = nearest(name, views);
  return near.empty() ? "expected an option of this kind of run, found none of this name"
                      : fmt::format("expected a known parameter, did you mean {}?", near);
}

/// Reads a parameter's value. Returns the error; empty if there is none.
std::string read(const app::Options& options, const std::string& name, const std::string& value) {
  const app::Option* option = options.find(option_of(name));
  if (option == nullptr) return unknown(options, name);
  const auto read = option->read(value);
  return read ? std::string() : fmt::format("{}: {}", option->name(), read.error());
}

/// Checks each value separately, so that each error has its own position.
std::vector<std::string> errors_in(const std::string& file, const ExperimentScenario& scenario,
                                   const ExperimentParameters& parameters) {
  std::vector<std::string> errors;
  for (const ExperimentParameter& parameter : parameters) {
    for (const ExperimentValue& value : parameter.values) {
      const std::string wrong = read(prepare(scenario.run).options, parameter.name, value.text);
      if (wrong.empty()) continue;
      errors.push_back(fmt::format("{}:{}:{}: {}: {}", file, value.at.line, value.at.column,
                                   parameter.name, wrong));
    }
  }
  return errors;
}

/// Returns a scenario's parameters with the changes of the command line.
ExperimentParameters changed(const ExperimentScenario& scenario, const Changes& changes) {
  ExperimentParameters parameters = scenario.parameters;
  if (changes.full) parameters = config::merge_parameters(std::move(parameters), scenario.full);
  for (const auto& [name, value] : changes.set) {
    const auto same = std::ranges::find(parameters, name, &ExperimentParameter::name);
    if (same != parameters.end()) {
      same->values = {{value, same->at}};
    } else {
      parameters.push_back({name, scenario.at, {{value, scenario.at}}});
    }
  }
  for (ExperimentParameter& parameter : parameters) {
    const bool limited = std::ranges::any_of(
        changes.only, [&](const auto& only) { return only.first == parameter.name; });
    if (!limited) continue;
    std::erase_if(parameter.values, [&](const ExperimentValue& value) {
      return std::ranges::none_of(changes.only, [&](const auto& only) {
        return only.first == parameter.name && same_value(only.second, value.text);
      });
    });
  }
  return parameters;
}

Result<Work> work_at(const ExperimentScenario& scenario, const Point& point) {
  const Prepared prepared = prepare(scenario.run);
  for (const auto& [name, value] : point)
    if (const std::string wrong = read(prepared.options, name, value); !wrong.empty())
      return fail(wrong);
  return prepared.kind->work();
}

std::string text_of(const Point& point) {
  std::string text;
  for (const auto& [name, value] : point)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  return text;
}

Result<void> add_cells(std::vector<Cell>& cells, const config::ExperimentProfile& profile,
                       std::size_t index, const Changes& changes) {
  const ExperimentScenario& scenario = profile.scenarios[index];
  const auto at = [&](const std::string& message) {
    return fail(
        fmt::format("{}:{}:{}: {}", profile.file, scenario.at.line, scenario.at.column, message));
  };
  if (!make_run_kind(scenario.run))
    return at(fmt::format("run: expected one of {}, found \"{}\"", fmt::join(run_kinds(), ", "),
                          scenario.run));
  const ExperimentParameters parameters = changed(scenario, changes);
  auto errors = errors_in(profile.file, scenario, parameters);
  std::ranges::move(errors_in(profile.file, scenario, scenario.full), std::back_inserter(errors));
  if (!errors.empty()) return fail(fmt::format("{}", fmt::join(errors, "\n")));
  for (Point& point : points_of(parameters)) {
    auto work = work_at(scenario, point);
    if (!work) return at(fmt::format("{} (where {})", work.error().message, text_of(point)));
    const std::uint32_t asked = changes.repeats > 0 ? changes.repeats : scenario.repeats;
    const std::uint32_t repeats = work->by_chance ? asked : 1;
    cells.push_back({index, std::move(point), std::move(*work), repeats});
  }
  return {};
}

}  // namespace

std::vector<Point> points_of(const ExperimentParameters& parameters) {
  std::vector<Point> points(1);
  for (const ExperimentParameter& parameter : parameters) {
    std::vector<Point> longer;
    for (const Point& point : points)
      for (const ExperimentValue& value : parameter.values) {
        longer.push_back(point);
        longer.back().emplace_back(parameter.name, value.text);
      }
    points = std::move(longer);
  }
  return points;
}

const std::string* Cell::find(std::string_view parameter) const noexcept {
  const auto found = std::ranges::find(point, parameter, &Point::value_type::first);
  return found == point.end() ? nullptr : &found->second;
}

Result<std::vector<Cell>> cells_of(const config::ExperimentProfile& profile,
                                   const Changes& changes) {
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < profile.scenarios.size(); ++i) {
    const bool wanted =
        changes.scenarios.empty() ||
        std::ranges::find(changes.scenarios, profile.scenarios[i].name) != changes.scenarios.end();
    if (!wanted) continue;
    if (auto added = add_cells(cells, profile, i, changes); !added)
      return std::unexpected(added.error());
  }
  if (cells.empty()) return fail(profile.file + ": no cell is left of what was asked for");
  return cells;
}

std::vector<std::string> swept(const ExperimentScenario& scenario, const Changes& changes) {
  std::vector<std::string> names;
  for (const ExperimentParameter& parameter : changed(scenario, changes))
    if (parameter.values.size() > 1) names.push_back(parameter.name);
  return names;
}

namespace {

std::optional<double> leading_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return *end == '%' ? value / 100 : value;
}

}  // namespace

std::vector<Task> tasks_of(const std::vector<Cell>& cells) {
  std::vector<Task> tasks;
  for (std::size_t cell = 0; cell < cells.size(); ++cell)
    for (std::uint32_t repeat = 0; repeat < cells[cell].repeats; ++repeat)
      tasks.push_back({cell, repeat});
  return tasks;
}

ExperimentResults::ExperimentResults(const config::ExperimentProfile& experiment, Changes by_user,
                                     std::vector<Cell> all)
    : profile(experiment), changes(std::move(by_user)), cells(std::move(all)) {
  for (const Cell& cell : cells) runs.emplace_back(cell.repeats);
}

std::string ExperimentResults::failure(const Task& task) const {
  const report::Json& run = runs[task.cell][task.repeat];
  if (const auto why = run.find("failure"); why != run.end()) return why->get<std::string>();
  const auto count = run.find("failed");
  if (count == run.end() || *count == 0) return "";
  return fmt::format("{} work requests failed", count->get<std::uint64_t>());
}

void ExperimentResults::remove_unfinished() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (std::ranges::any_of(runs[i], [](const report::Json& run) { return run.is_null(); }))
      continue;
    if (kept != i) {
      cells[kept] = std::move(cells[i]);
      runs[kept] = std::move(runs[i]);
    }
    ++kept;
  }
  missing = cells.size() - kept;
  cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(kept), cells.end());
  runs.resize(kept);
}

std::optional<Spread> ExperimentResults::figure(std::size_t cell, std::string_view name) const {
  std::optional<Spread> spread;
  double sum = 0;
  std::size_t count = 0;
  for (const report::Json& run : runs[cell]) {
    const auto found = run.find(name);
    if (found == run.end() || !found->is_number()) continue;
    const auto value = found->get<double>();
    if (!spread) spread = {value, 0, value};
    spread->min = std::min(spread->min, value);
    spread->max = std::max(spread->max, value);
    sum += value;
    ++count;
  }
  if (spread) {
    spread->average = sum / static_cast<double>(count);
    return spread;
  }
  const std::string* given = cells[cell].find(name);
  const auto value = given ? leading_number(*given) : std::nullopt;
  if (!value) return std::nullopt;
  return Spread{*value, *value, *value};
}

std::string ExperimentResults::words(std::size_t cell, std::string_view name) const {
  if (const std::string* given = cells[cell].find(name))
    return name == "path" ? std::filesystem::path(*given).stem().string() : *given;
  for (const report::Json& run : runs[cell]) {
    const auto found = run.find(name);
    if (found != run.end() && found->is_string()) return found->get<std::string>();
  }
  const auto spread = figure(cell, name);
  return spread ? number(spread->average) : "";
}

std::optional<double> as_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool same_value(const std::string& one, const std::string& other) {
  return one == other || (as_number(one) && as_number(one) == as_number(other));
}

std::vector<std::size_t> ExperimentResults::cells_of(std::size_t scenario) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].scenario == scenario) found.push_back(i);
  return found;
}

std::string number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e9) return fmt::format("{:.0f}", value);
  if (std::abs(value) >= 1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

}  // namespace lw::gen::experiment
