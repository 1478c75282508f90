// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gen/experiment/results.h"

namespace lw::gen::experiment {

/// A published table, read from CSV.
struct PublishedTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns

  [[nodiscard]] std::optional<std::size_t> column(const std::string& name) const;
};
Result<PublishedTable> load_published(const std::string& file);

/// A published figure and our figure.
struct Compared {
  std::size_t cell = 0;    // index of our cell
  std::size_t column = 0;  // index of the column in the scenario's comparison
  std::string row;         // the cells that identify it, separated by spaces
  std::string name;        // of its column of the published table: "write_td128_us"
  std::string published, ours;
  std::optional<double> difference;  // ours / published - 1; none if one is not a number
  bool agrees = true;                // for values that are not numbers: equal kinds, or "partial"
  std::string remark;
  bool holds = true;  // within the tolerance, or there is none
};

/// Compares the cells of a scenario that have a row in its published table. Errors (usage): the
/// table can't be read, or a column is missing.
Result<std::vector<Compared>> compare(const ExperimentResults& results, std::size_t scenario);

/// Returns what tells a figure from the others of its scenario: "message_bytes 2, op write".
std::string place_of(const ExperimentResults& results, const config::ExperimentScenario& scenario,
                     const std::vector<Compared>& all, const Compared& compared);

/// Returns a scenario's cells beside the published ones, as a text table.
std::string comparison_table(const ExperimentResults& results,
                             const config::ExperimentScenario& scenario,
                             const std::vector<Compared>& all);
/// Returns the largest difference of each column, one line per column.
std::string comparison_summary(const config::ExperimentScenario& scenario,
                               const std::vector<Compared>& all);

}  // namespace lw::gen::experiment
