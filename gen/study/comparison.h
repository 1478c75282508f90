// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gen/study/results.h"

namespace lw::gen::experiment {

/// A published table, as it stands in its CSV file.
struct PublishedTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns

  [[nodiscard]] std::optional<std::size_t> column(const std::string& name) const;
};
Result<PublishedTable> load_published(const std::string& file);

/// One published cell beside ours.
struct Compared {
  std::size_t cell = 0;    // ours
  std::size_t column = 0;  // of the scenario's comparison
  std::string row;         // the cells that name it, one space between them
  std::string published, ours;
  std::optional<double> difference;  // a share of the published figure; none: words
  bool agrees = true;                // words: the same, or "partial", which either way agrees with
  std::string remark;
  bool holds = true;  // within what was asked for, or nothing was
};

/// Our cells beside a scenario's table: those that have a row there. Errors (usage): the table
/// can't be read, or lacks a column.
Result<std::vector<Compared>> compare(const Results& results, std::size_t scenario);

/// A scenario's cells beside the published ones, as a table for people.
std::string comparison_table(const Results& results, const config::ExperimentScenario& scenario,
                             const std::vector<Compared>& all);
/// For each column of a comparison the largest difference, a line per column.
std::string comparison_summary(const config::ExperimentScenario& scenario,
                               const std::vector<Compared>& all);

}  // namespace lw::gen::experiment
