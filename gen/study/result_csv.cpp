// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "gen/report/csv.h"
#include "gen/study/result_files.h"

namespace lw::gen::experiment {
namespace {

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::vector<std::string> parameters_of(const Results& results) {
  std::vector<std::string> names;
  for (const Cell& cell : results.cells)
    for (const auto& [name, value] : cell.point) add_new(names, name);
  return names;
}

/// Numbers and words that are no parameters; series have files of their own.
std::vector<std::string> figures_of(const Results& results,
                                    const std::vector<std::string>& parameters) {
  std::vector<std::string> names;
  for (const auto& runs : results.runs) {
    for (const auto& [name, value] : runs.front().items()) {
      const bool parameter = std::ranges::find(parameters, name) != parameters.end();
      if (!parameter && !value.is_array()) add_new(names, name);
    }
  }
  return names;
}

bool spreads(const Results& results) {
  return std::ranges::any_of(results.cells, [](const Cell& cell) { return cell.repeats > 1; });
}

void append(std::string& csv, const std::string& field) {
  csv += ',';
  csv += csv_field(field);
}

void append_figure(std::string& csv, const Results& results, std::size_t cell,
                   const std::string& name, bool spread) {
  const auto figure = results.figure(cell, name);
  append(csv, figure ? fmt::to_string(figure->average) : results.words(cell, name));
  if (!spread) return;
  append(csv, figure ? fmt::to_string(figure->min) : std::string());
  append(csv, figure ? fmt::to_string(figure->max) : std::string());
}

}  // namespace

std::string to_csv(const Outcome& outcome) {
  const Results& results = outcome.results;
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
    csv += csv_field(results.profile.scenarios[results.cells[cell].scenario].name);
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

}  // namespace lw::gen::experiment
