// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "gen/study/comparison.h"
#include "gen/study/results.h"
#include "report/plot.h"

namespace lw::gen::experiment {

/// A finished experiment.
struct Outcome {
  Results results;
  std::vector<std::vector<Compared>> compared;  // per scenario; empty if it has no table
};

/// "size = 64KiB, loss = 0.1": what distinguishes a cell from the others of its scenario.
std::string swept_point(const Results& results, std::size_t cell);

/// The runs that failed, and a table of them with their reasons and seeds; empty: none failed.
std::vector<Task> failed_runs(const Results& results);
std::string failure_table(const Results& results);

/// CSV with a header line and a line per cell: scenario, parameters, figures. With repeats a figure
/// has three columns: average, minimum and maximum.
std::string to_csv(const Outcome& outcome);
/// JSON with every run of every cell, and the comparisons.
std::string to_json(const Outcome& outcome);
/// Text for people: premises, a table per scenario, and the comparison with published figures.
std::string to_text(const Outcome& outcome);
/// The plot, and as SVG.
report::Plot to_plot(const Outcome& outcome, const config::ExperimentPlot& plot);
std::string to_picture(const Outcome& outcome, const config::ExperimentPlot& plot);

}  // namespace lw::gen::experiment
