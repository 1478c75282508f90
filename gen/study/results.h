// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gen/study/cells.h"

namespace lw::gen::experiment {

/// A figure over a cell's repeats.
struct Spread {
  double min = 0, average = 0, max = 0;
};

/// What an experiment gave.
struct Results {
  const config::ExperimentProfile& profile;
  Changes changes;
  std::vector<Cell> cells;
  std::vector<std::vector<report::Json>> runs;  // of each cell, a repeat each
  double elapsed_s = 0;

  /// A figure of the cell's runs, or the number that a parameter's value begins with ("380km").
  [[nodiscard]] std::optional<Spread> figure(std::size_t cell, std::string_view name) const;
  /// The same as words: of a parameter as it was given (of a path its name), of a
  /// figure its average, or its word.
  [[nodiscard]] std::string words(std::size_t cell, std::string_view name) const;
  /// Cells of a scenario, in their order.
  [[nodiscard]] std::vector<std::size_t> cells_of(std::size_t scenario) const;
};

/// Runs every cell as often as it asks for, on `jobs` threads; repeat r has the seed that the
/// experiment begins with, and r. `progress(done, all)` is called from this thread about five
/// times a second.
void run_cells(Results& results, unsigned jobs,
               const std::function<void(std::size_t, std::size_t)>& progress);

/// A number with as many digits as are worth reading: "98.03", "1.9e-05".
std::string number(double value);

}  // namespace lw::gen::experiment
