// SPDX-License-Identifier: BSD-3-Clause
#include "gen/experiment/comparison.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "core/output.h"
#include "report/table.h"

namespace lw::gen::experiment {
namespace {

using config::ExperimentComparison;
using config::ExperimentScenario;
using report::Align;

std::vector<std::string> cells_of_line(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

/// Replaces the braces in a name, as in "stress{stress}_s", by a cell's values.
std::string filled(const std::string& pattern, const ExperimentResults& results, std::size_t cell) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::size_t end = pattern[i] == '{' ? pattern.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      text += pattern[i];
      continue;
    }
    text += results.words(cell, pattern.substr(i + 1, end - i - 1));
    i = end;
  }
  return text;
}

bool same(const std::string& published, const ExperimentResults& results, std::size_t cell,
          const std::string& ours) {
  if (results.words(cell, ours) == published) return true;
  const auto number = as_number(published);
  const auto figure = results.figure(cell, ours);
  return number && figure && figure->average == *number;
}

/// Returns the row of the table that belongs to a cell.
std::optional<std::size_t> row_of(const PublishedTable& table, const ExperimentComparison& asked,
                                  const ExperimentResults& results, std::size_t cell) {
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const bool match = std::ranges::all_of(asked.rows, [&](const auto& key) {
      const auto column = table.column(key.first);
      return column && same(table.rows[row][*column], results, cell, key.second);
    });
    if (match) return row;
  }
  return std::nullopt;
}

/// Returns the value of "figure", "figure.min", "figure.max" or "figure.avg".
std::optional<double> our_number(const ExperimentResults& results, std::size_t cell,
                                 const std::string& ours) {
  const std::size_t dot = ours.rfind('.');
  const std::string end = dot == std::string::npos ? "" : ours.substr(dot + 1);
  const bool spread = end == "min" || end == "avg" || end == "max";
  const auto figure = results.figure(cell, spread ? ours.substr(0, dot) : ours);
  if (!figure) return std::nullopt;
  return end == "min" ? figure->min : end == "max" ? figure->max : figure->average;
}

/// Compares words, or the kinds of two values. "partial" (only some of the runs finished) in the
/// published table agrees with anything; in our results it agrees only with "partial".
bool agree(const std::string& published, const std::string& ours) {
  if (published.starts_with("partial")) return true;
  if (ours.starts_with("partial")) return false;
  return as_number(published).has_value() == as_number(ours).has_value();
}

Compared compare_cell(const ExperimentResults& results, std::size_t cell, std::size_t index,
                      const ExperimentComparison& asked, const std::string& published) {
  const auto& column = asked.columns[index];
  Compared compared;
  compared.cell = cell;
  compared.column = index;
  compared.published = published;
  const auto number = our_number(results, cell, column.ours);
  compared.ours = number ? experiment::number(*number) : results.words(cell, column.ours);
  const auto theirs = as_number(published);
  if (number && theirs && *theirs != 0) compared.difference = *number / *theirs - 1;
  compared.agrees = agree(published, compared.ours);
  if (column.within) {
    compared.holds =
        compared.difference ? std::abs(*compared.difference) <= *column.within : compared.agrees;
  }
  return compared;
}

std::string percent(const Compared& compared) {
  if (compared.difference) return fmt::format("{:+.2f} %", *compared.difference * 100);
  return compared.agrees ? "agrees" : "differs";
}

/// Returns the swept parameters that are not in the table's rows: they distinguish lines with the
/// same row.
std::vector<std::string> beside_rows(const ExperimentScenario& scenario, const Changes& changes,
                                     const ExperimentResults& results,
                                     const std::vector<Compared>& all) {
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

/// The heading of a column of figures, whose name may depend on the row.
std::string heading_of(const std::string& published) {
  return published.contains('{') ? "published" : published;
}

}  // namespace

std::optional<std::size_t> PublishedTable::column(const std::string& name) const {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

Result<PublishedTable> load_published(const std::string& file) {
  note_input(file);
  std::ifstream in(file);
  if (!in) return fail(file + ": can't be read");
  PublishedTable table;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    auto cells = cells_of_line(line);
    if (number == 1) {
      table.columns = std::move(cells);
    } else if (cells.size() != table.columns.size()) {
      return fail(fmt::format("{}:{}: expected {} cells, found {}", file, number,
                              table.columns.size(), cells.size()));
    } else {
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

Result<std::vector<Compared>> compare(const ExperimentResults& results, std::size_t scenario) {
  const auto& asked = *results.profile.scenarios[scenario].compare;
  const auto refuse = [&](const std::string& what) {
    return fail(fmt::format("{}:{}:{}: compare: {}", results.profile.file, asked.at.line,
                            asked.at.column, what));
  };
  const auto table = load_published(asked.table);
  if (!table) return refuse(table.error().message);
  for (const auto& [column, ours] : asked.rows)
    if (!table->column(column)) return refuse(fmt::format("no column {} in the table", column));
  std::vector<Compared> all;
  for (const std::size_t cell : results.cells_of(scenario)) {
    const auto row = row_of(*table, asked, results, cell);
    if (!row) continue;
    std::string name;
    for (const auto& [column, ours] : asked.rows)
      name += (name.empty() ? "" : " ") + table->rows[*row][*table->column(column)];
    for (std::size_t i = 0; i < asked.columns.size(); ++i) {
      const std::string published = filled(asked.columns[i].published, results, cell);
      const auto column = table->column(published);
      if (!column) return refuse(fmt::format("no column {} in the table", published));
      Compared compared = compare_cell(results, cell, i, asked, table->rows[*row][*column]);
      compared.row = name;
      compared.name = published;
      for (const auto& remark : asked.remarks) {
        if (remark.row != name) continue;
        compared.remark = remark.text;
        compared.holds = compared.holds || remark.excused;
      }
      all.push_back(std::move(compared));
    }
  }
  return all;
}

std::string place_of(const ExperimentResults& results, const config::ExperimentScenario& scenario,
                     const std::vector<Compared>& all, const Compared& compared) {
  std::string place;
  const auto add = [&](const std::string& name, const std::string& value) {
    place += fmt::format("{}{} {}", place.empty() ? "" : ", ", name, value);
  };
  for (const auto& [column, ours] : scenario.compare->rows)
    add(column, results.words(compared.cell, ours));
  for (const std::string& name : beside_rows(scenario, results.changes, results, all))
    add(name, results.words(compared.cell, name));
  if (scenario.compare->columns.size() > 1) place += ": " + compared.name;
  return place;
}

std::string comparison_table(const ExperimentResults& results, const ExperimentScenario& scenario,
                             const std::vector<Compared>& all) {
  const auto& asked = *scenario.compare;
  std::vector<report::TextTable::Column> columns;
  for (const auto& key : asked.rows) columns.push_back({key.first, Align::right});
  const auto more = beside_rows(scenario, results.changes, results, all);
  for (const std::string& name : more) columns.push_back({name, Align::right});
  for (const auto& column : asked.columns) {
    columns.push_back({heading_of(column.published), Align::right});
    columns.push_back({"ours", Align::right});
    columns.push_back({"differs by", Align::right});
  }
  columns.push_back({""});
  report::TextTable table(std::move(columns));
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
    text += fmt::format("  {}: ", heading_of(asked.published));
    if (words != agreeing || !worst) text += fmt::format("{} of {} agree", agreeing, words);
    if (worst)
      text += fmt::format("{}furthest off {:+.2f} % at {}", words != agreeing ? "; " : "",
                          *worst->difference * 100, worst->row);
    if (asked.within) text += fmt::format("; asked for: within {:g} %", *asked.within * 100);
    text += '\n';
  }
  return text;
}

}  // namespace lw::gen::experiment
