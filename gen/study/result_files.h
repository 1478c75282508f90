// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "gen/study/comparison.h"
#include "gen/study/results.h"

namespace lw::gen::experiment {

/// What a finished experiment says, in each of the ways in which it says it.
struct Outcome {
  Results results;
  std::vector<std::vector<Compared>> compared;  // of each scenario; empty where there is no table
};

/// A line a cell with a header line: scenario, parameters, figures; a figure that chance spreads
/// has columns for its least, average and greatest.
std::string to_csv(const Outcome& outcome);
/// Every run of every cell, and what it was compared with.
std::string to_json(const Outcome& outcome);
/// For people: what the figures rest on, a table a scenario, and ours beside the published.
std::string to_text(const Outcome& outcome);
/// The plot as a picture (SVG).
std::string to_picture(const Outcome& outcome, const config::ExperimentPlot& plot);

}  // namespace lw::gen::experiment
