// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/experiment/profile.h"
#include "gen/experiment/run_kind.h"

namespace lw::gen::experiment {

/// Changes to an experiment on the command line.
struct Changes {
  bool full = false;
  std::vector<std::pair<std::string, std::string>> set;   // values that replace the scenario's
  std::vector<std::pair<std::string, std::string>> only;  // values of a sweep to run
  std::vector<std::string> scenarios;                     // scenarios to run; empty: all
  std::uint32_t repeats = 0;                              // 0: as in the file
};

/// Returns the number that a text consists of, if it does.
std::optional<double> as_number(const std::string& text);
/// Returns true for the same text, or the same number: "1e-3" and "0.001".
bool same_value(const std::string& one, const std::string& other);

/// One combination of the values of a sweep: parameter, value.
using Point = std::vector<std::pair<std::string, std::string>>;

/// Returns all combinations; the first parameter varies slowest.
std::vector<Point> points_of(const config::ExperimentParameters& parameters);

/// The runs of one combination.
struct Cell {
  std::size_t scenario = 0;
  Point point;
  Work work;
  std::uint32_t repeats = 1;  // 1 if the run is not random

  /// Returns the parameter's value, or null.
  [[nodiscard]] const std::string* find(std::string_view parameter) const noexcept;
};

/// Returns all cells, in the order of points_of(). Errors (usage): an invalid parameter,
/// with its line and column; no cell is left.
Result<std::vector<Cell>> cells_of(const config::ExperimentProfile& profile,
                                   const Changes& changes);

/// Names of the parameters that take more than one value in a scenario's cells.
std::vector<std::string> swept(const config::ExperimentScenario& scenario, const Changes& changes);

/// Average, minimum and maximum of a figure over the repeats of a cell.
struct Spread {
  double min = 0, average = 0, max = 0;
};

/// One run of a cell: one repeat.
struct Task {
  std::size_t cell = 0;
  std::uint32_t repeat = 0;

  bool operator==(const Task&) const = default;
};
/// The runs of all cells, cell by cell.
std::vector<Task> tasks_of(const std::vector<Cell>& cells);

/// ExperimentResults of an experiment.
struct ExperimentResults {
  const config::ExperimentProfile& profile;
  Changes changes;
  std::vector<Cell> cells;
  std::vector<std::vector<report::Json>> runs;  // per cell, per repeat; null: not run yet
  double elapsed_s = 0;
  std::size_t missing = 0;  // number of cells that remove_unfinished() removed

  ExperimentResults(const config::ExperimentProfile& experiment, Changes by_user,
                    std::vector<Cell> all);

  [[nodiscard]] std::uint64_t seed_of(const Task& task) const noexcept {
    return profile.seed + task.repeat;
  }
  [[nodiscard]] bool has(const Task& task) const { return !runs[task.cell][task.repeat].is_null(); }
  /// Returns why a run failed; empty if it did not fail.
  [[nodiscard]] std::string failure(const Task& task) const;
  /// Removes the cells that lack a run, and counts them in `missing`.
  void remove_unfinished();

  /// Returns a figure of the cell's runs, or the number at the start of a parameter's value
  /// ("380km").
  [[nodiscard]] std::optional<Spread> figure(std::size_t cell, std::string_view name) const;
  /// Returns figure() as text: a parameter as given (for a path: its name), a figure's average, or
  /// a word.
  [[nodiscard]] std::string words(std::size_t cell, std::string_view name) const;
  /// Returns the cells of a scenario, in their order.
  [[nodiscard]] std::vector<std::size_t> cells_of(std::size_t scenario) const;
};

/// Formats a number with two decimals or three significant digits: "98.03", "1.9e-05".
std::string number(double value);

}  // namespace lw::gen::experiment
