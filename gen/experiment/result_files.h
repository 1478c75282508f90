// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/figure.h"
#include "core/question.h"
#include "gen/experiment/comparison.h"
#include "gen/experiment/results.h"
#include "report/plot.h"
#include "report/run_rows.h"

namespace lw::gen::experiment {

/// A finished experiment.
struct Outcome {
  ExperimentResults results;
  std::vector<std::vector<Compared>> compared;  // per scenario; empty if it has no table

  static const FigureTable& figures();
};
inline constexpr JsonOutput kExperimentOutput{
    .name = "experiment",
    .title = "NAME.json of roce-gen experiment, and of a sweep of roce-endpoint",
    .figures = &Outcome::figures,
    .judged = true,
    .version = 2};

/// Formats the parameters that distinguish a cell from others of its scenario: "size = 64KiB, loss
/// = 0.1".
std::string swept_point(const ExperimentResults& results, std::size_t cell);

/// Return the failed runs, and a table of them with reasons and seeds; empty if none failed.
std::vector<Task> failed_runs(const ExperimentResults& results);
std::string failure_table(const ExperimentResults& results);

/// Formats CSV with a header line and a line per cell: scenario, parameters, figures. With repeats,
/// a figure has three columns: average, minimum and maximum.
std::string to_csv(const Outcome& outcome);
/// Formats JSON with every run of every cell, and the comparisons, without the verdict.
std::string to_json(const Outcome& outcome);
/// Adds what the experiment observed of kExperimentQuestions.
void observe_experiment(Judge& judge, const Outcome& outcome);
/// Returns the rows of its page: published figures beside those of the experiment.
report::RunRows page_rows(const Outcome& outcome);
/// Formats text: premises, a table per scenario, and the comparison with published figures.
std::string to_text(const Outcome& outcome);
/// Return the plot, and the plot as SVG.
report::Plot to_plot(const Outcome& outcome, const config::ExperimentPlot& plot);
std::string to_picture(const Outcome& outcome, const config::ExperimentPlot& plot);

}  // namespace lw::gen::experiment
