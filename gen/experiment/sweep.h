// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/html_report.h"
#include "app/verdicts.h"
#include "config/experiment/profile.h"
#include "core/error.h"
#include "core/quantity.h"
#include "gen/experiment/results.h"
#include "report/json_line.h"

namespace lw::gen {

/// Parses "size=4KiB,64KiB": the name of an option, and the texts of its values.
Parsed<config::ExperimentParameter> parse_sweep_parameter(std::string_view text);

/// Real runs for all combinations of some parameters: an experiment of one scenario. Its files are
/// those of `roce-gen experiment`: NAME.csv, NAME.json, NAME.txt and a plot FIGURE.svg for each
/// figure.
struct Sweep {
  config::ExperimentProfile profile;
  /// Returns settings and figures of a run, by name. An error of a run ends the sweep.
  std::function<Result<report::Json>(const experiment::Point&)> run;

  /// The first parameter is the x axis of the plots; there is at least one. `figures` are shown in
  /// the table, and plotted.
  Sweep(std::string name, const std::string& title, config::ExperimentParameters parameters,
        std::uint32_t repeats, std::vector<std::string> figures);
  /// Returns the files that the sweep writes into `folder`.
  [[nodiscard]] std::vector<std::string> files(const std::string& folder) const;
};

/// What a sweep writes beside its files.
struct SweepOutputs {
  app::Verdicts& verdicts;  // of kExperimentQuestions
  app::HtmlReport& page;
};

/// Runs a sweep and writes its files; the page gets its results and plots. If a run fails or `stop`
/// is set, writes the results of the finished combinations. Errors: those of a run; a file that
/// can't be written; interrupted (failed).
Result<void> run_sweep(const Sweep& sweep, const std::string& folder, const std::atomic<bool>& stop,
                       SweepOutputs outputs);

}  // namespace lw::gen
