// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gen/study/cells.h"

namespace lw::gen::experiment {

/// A figure over the repeats of a cell.
struct Spread {
  double min = 0, average = 0, max = 0;
};

/// Results of an experiment.
struct Results {
  const config::ExperimentProfile& profile;
  Changes changes;
  std::vector<Cell> cells;
  std::vector<std::vector<report::Json>> runs;  // per cell, per repeat
  double elapsed_s = 0;

  /// A figure of the cell's runs, or the number at the start of a parameter's value ("380km").
  [[nodiscard]] std::optional<Spread> figure(std::size_t cell, std::string_view name) const;
  /// Like figure(), as text: a parameter as given (a path: its name), or a figure's average or
  /// word.
  [[nodiscard]] std::string words(std::size_t cell, std::string_view name) const;
  /// Cells of a scenario, in their order.
  [[nodiscard]] std::vector<std::size_t> cells_of(std::size_t scenario) const;
};

/// Runs every cell and its repeats on `jobs` threads; repeat r has the experiment's seed plus r.
/// Calls `progress(done, all)` from the calling thread about five times a second.
void run_cells(Results& results, unsigned jobs,
               const std::function<void(std::size_t, std::size_t)>& progress);

/// Formats a number with two decimals or three significant digits: "98.03", "1.9e-05".
std::string number(double value);

}  // namespace lw::gen::experiment
