// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/experiment/profile.h"
#include "gen/study/run_kind.h"

namespace lw::gen::experiment {

/// What the command line changes in an experiment.
struct Changes {
  bool full = false;
  std::vector<std::pair<std::string, std::string>> set;   // in place of a scenario's own
  std::vector<std::pair<std::string, std::string>> only;  // of what is swept, no other value
  std::vector<std::string> scenarios;                     // no others; empty: all
  std::uint32_t repeats = 0;                              // 0: as the file says
};

/// A point of a sweep and what runs there.
struct Cell {
  std::size_t scenario = 0;
  std::vector<std::pair<std::string, std::string>> point;  // parameter, value
  Work work;
  std::uint32_t repeats = 1;  // 1 where nothing is by chance

  /// The parameter's value; empty where there is none.
  [[nodiscard]] const std::string* find(std::string_view parameter) const noexcept;
};

/// All cells, the first parameter changing slowest. Errors (usage): what is wrong with a
/// parameter, with its line and column; a change that fits nothing.
Result<std::vector<Cell>> cells_of(const config::ExperimentProfile& profile,
                                   const Changes& changes);

/// Names of the parameters that take more than one value in a scenario's cells.
std::vector<std::string> swept(const config::ExperimentScenario& scenario, const Changes& changes);

}  // namespace lw::gen::experiment
