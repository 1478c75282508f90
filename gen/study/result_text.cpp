// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gen/study/result_files.h"
#include "report/table.h"

namespace lw::gen::experiment {
namespace {

using config::ExperimentScenario;
using report::Align;

std::string premises(const config::ExperimentProfile& profile) {
  if (profile.premises.empty()) return "";
  report::Table table({{"parameter"}, {"value"}, {"basis"}, {"why"}});
  for (const auto& p : profile.premises) table.add_row({p.parameter, p.value, p.basis, p.why});
  return "\nWhat the figures rest on\n" + table.to_string(2);
}

/// What a figure is over its repeats: one number, or its least, average and greatest.
std::string spread_text(const Results& results, std::size_t cell, const std::string& name) {
  const auto figure = results.figure(cell, name);
  if (!figure || results.cells[cell].repeats == 1 || figure->min == figure->max)
    return results.words(cell, name);
  return fmt::format("{} {} {}", number(figure->min), number(figure->average), number(figure->max));
}

std::string scenario_table(const Results& results, std::size_t index) {
  const ExperimentScenario& scenario = results.profile.scenarios[index];
  const auto cells = results.cells_of(index);
  if (scenario.show.empty() || cells.empty()) return "";
  const auto parameters = swept(scenario, results.changes);
  std::vector<report::Table::Column> columns;
  for (const std::string& name : parameters) columns.push_back({name, Align::right});
  for (const std::string& name : scenario.show) columns.push_back({name, Align::right});
  report::Table table(std::move(columns));
  for (const std::size_t cell : cells) {
    std::vector<std::string> row;
    for (const std::string& name : parameters) row.push_back(results.words(cell, name));
    for (const std::string& name : scenario.show) row.push_back(spread_text(results, cell, name));
    table.add_row(std::move(row));
  }
  return table.to_string(2);
}

std::string percent(const Compared& compared) {
  if (compared.difference) return fmt::format("{:+.2f} %", *compared.difference * 100);
  return compared.agrees ? "agrees" : "differs";
}

/// Scenario's parameters that its rows don't tell, so that a line is told from the others.
std::vector<std::string> beside_rows(const ExperimentScenario& scenario, const Changes& changes,
                                     const Results& results, const std::vector<Compared>& all) {
  std::vector<std::string> names = swept(scenario, changes);
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::all_of(all, [&](const Compared& c) {
      const auto& rows = scenario.compare->rows;
      return std::ranges::any_of(rows, [&](const auto& row) { return row.second == name; }) ||
             results.words(c.cell, name) == results.words(all.front().cell, name) ||
             (name == "size" &&
              std::ranges::any_of(rows, [](const auto& row) { return row.second == "bytes"; }));
    });
  });
  return names;
}

std::string comparison_table(const Results& results, const ExperimentScenario& scenario,
                             const std::vector<Compared>& all) {
  const auto& asked = *scenario.compare;
  std::vector<report::Table::Column> columns;
  for (const auto& key : asked.rows) columns.push_back({key.first, Align::right});
  const auto more = beside_rows(scenario, results.changes, results, all);
  for (const std::string& name : more) columns.push_back({name, Align::right});
  for (const auto& column : asked.columns) {
    columns.push_back({column.published, Align::right});
    columns.push_back({"ours", Align::right});
    columns.push_back({"differs by", Align::right});
  }
  columns.push_back({""});
  report::Table table(std::move(columns));
  for (std::size_t i = 0; i < all.size(); i += asked.columns.size()) {
    std::vector<std::string> row;
    for (const auto& key : asked.rows) row.push_back(results.words(all[i].cell, key.second));
    for (const std::string& name : more) row.push_back(results.words(all[i].cell, name));
    bool holds = true;
    for (std::size_t k = i; k < i + asked.columns.size(); ++k) {
      row.insert(row.end(), {all[k].published, all[k].ours, percent(all[k])});
      holds = holds && all[k].holds;
    }
    row.push_back((holds ? "" : "TOO FAR ") + all[i].remark);
    table.add_row(std::move(row));
  }
  return "  beside " + asked.table + "\n" + table.to_string(2);
}

std::string comparison_summary(const ExperimentScenario& scenario,
                               const std::vector<Compared>& all) {
  std::string text;
  for (std::size_t column = 0; column < scenario.compare->columns.size(); ++column) {
    const auto& asked = scenario.compare->columns[column];
    const Compared* worst = nullptr;
    std::size_t words = 0, agreeing = 0;
    for (const Compared& compared : all) {
      if (compared.column != column) continue;
      ++words;
      agreeing += compared.agrees ? 1 : 0;
      if (!compared.difference || !compared.remark.empty()) continue;
      if (!worst || std::abs(*compared.difference) > std::abs(*worst->difference))
        worst = &compared;
    }
    text += fmt::format("  {}: ", asked.published);
    if (words != agreeing || !worst) text += fmt::format("{} of {} agree; ", agreeing, words);
    if (worst)
      text += fmt::format("furthest off {:+.2f} % at {}", *worst->difference * 100, worst->row);
    if (asked.within) text += fmt::format("; asked for: within {:g} %", *asked.within * 100);
    text += '\n';
  }
  return text;
}

/// Why there are fewer runs than repeats were asked for.
std::string unrepeated(const Results& results, const ExperimentScenario& scenario,
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

}  // namespace

std::string to_text(const Outcome& outcome) {
  const Results& results = outcome.results;
  const auto& profile = results.profile;
  std::string text = profile.title + "\n";
  if (!profile.note.empty()) text += profile.note + "\n";
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
  return text;
}

}  // namespace lw::gen::experiment
