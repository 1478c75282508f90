// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/experiment/profile.h"
#include "gen/study/run_kind.h"

namespace lw::gen::experiment {

/// Changes of an experiment by the command line.
struct Changes {
  bool full = false;
  std::vector<std::pair<std::string, std::string>> set;   // values instead of the scenario's
  std::vector<std::pair<std::string, std::string>> only;  // of a sweep, only these values
  std::vector<std::string> scenarios;                     // only these; empty: all
  std::uint32_t repeats = 0;                              // 0: as in the file
};

/// A point of a sweep, and its run.
struct Cell {
  std::size_t scenario = 0;
  std::vector<std::pair<std::string, std::string>> point;  // parameter, value
  Work work;
  std::uint32_t repeats = 1;  // 1 if the run is not random

  /// Returns the parameter's value, or null.
  [[nodiscard]] const std::string* find(std::string_view parameter) const noexcept;
};

/// All cells; the first parameter changes slowest. Errors (usage): a wrong parameter, with its line
/// and column; no cell is left.
Result<std::vector<Cell>> cells_of(const config::ExperimentProfile& profile,
                                   const Changes& changes);

/// Names of the parameters that take more than one value in a scenario's cells.
std::vector<std::string> swept(const config::ExperimentScenario& scenario, const Changes& changes);

}  // namespace lw::gen::experiment
