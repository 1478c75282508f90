// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/comparison.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace lw::gen::experiment {
namespace {

using config::ExperimentComparison;

std::vector<std::string> cells_of_line(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

std::optional<double> as_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "stress{stress}_s" with a cell's own values in place of the braces.
std::string filled(const std::string& pattern, const Results& results, std::size_t cell) {
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

bool same(const std::string& published, const Results& results, std::size_t cell,
          const std::string& ours) {
  if (results.words(cell, ours) == published) return true;
  const auto number = as_number(published);
  const auto figure = results.figure(cell, ours);
  return number && figure && figure->average == *number;
}

/// The table's row for a cell of ours.
std::optional<std::size_t> row_of(const PublishedTable& table, const ExperimentComparison& asked,
                                  const Results& results, std::size_t cell) {
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const bool match = std::ranges::all_of(asked.rows, [&](const auto& key) {
      const auto column = table.column(key.first);
      return column && same(table.rows[row][*column], results, cell, key.second);
    });
    if (match) return row;
  }
  return std::nullopt;
}

/// "figure", "figure.min", "figure.max" or "figure.avg".
std::optional<double> our_number(const Results& results, std::size_t cell,
                                 const std::string& ours) {
  const std::size_t dot = ours.rfind('.');
  const std::string end = dot == std::string::npos ? "" : ours.substr(dot + 1);
  const bool spread = end == "min" || end == "avg" || end == "max";
  const auto figure = results.figure(cell, spread ? ours.substr(0, dot) : ours);
  if (!figure) return std::nullopt;
  return end == "min" ? figure->min : end == "max" ? figure->max : figure->average;
}

/// A number against a number, words against words. What only some of the published runs did agrees
/// with anything; what only some of ours did, with nothing else.
bool agree(const std::string& published, const std::string& ours) {
  if (published.starts_with("partial")) return true;
  if (ours.starts_with("partial")) return false;
  return as_number(published).has_value() == as_number(ours).has_value();
}

Compared compare_cell(const Results& results, std::size_t cell, std::size_t index,
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

}  // namespace

std::optional<std::size_t> PublishedTable::column(const std::string& name) const {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

Result<PublishedTable> load_published(const std::string& file) {
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

Result<std::vector<Compared>> compare(const Results& results, std::size_t scenario) {
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

}  // namespace lw::gen::experiment
