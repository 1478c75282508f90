// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/html_report.h"
#include "core/error.h"
#include "core/quantity.h"
#include "report/json_line.h"

namespace lw::gen::endpoint {

/// A swept parameter: the name of its option ("size"), and the texts of its values.
struct SweepParameter {
  std::string name;
  std::vector<std::string> values;  // not empty
};

/// Parses "size=4KiB,64KiB".
Parsed<SweepParameter> parse_sweep_parameter(std::string_view text);

/// One combination of a sweep: parameters and texts of their values.
using SweepPoint = std::vector<std::pair<std::string, std::string>>;

/// Real runs for all combinations of some parameters. The output files are like those of `roce-gen
/// experiment`: NAME.csv, NAME.json, NAME.txt and a plot FIGURE.svg for each figure.
struct Sweep {
  std::string name, title;
  // the first one varies slowest, and is the x axis of the plots
  std::vector<SweepParameter> parameters;
  std::uint32_t repeats = 1;
  std::vector<std::string> figures;  // shown in the table, and plotted
  /// Returns settings and figures of a run, by name. An error of a run ends the sweep.
  std::function<Result<report::Json>(const SweepPoint&)> run;
};

/// Returns the files that a sweep writes into `folder`.
std::vector<std::string> sweep_files(const Sweep& sweep, const std::string& folder);

/// Runs a sweep and writes its files; the page gets its results and plots. If a run fails or `stop`
/// is set, writes the results of the finished combinations. Errors: those of a run; a file that
/// can't be written; interrupted (failed).
Result<void> run_sweep(const Sweep& sweep, const std::string& folder, const std::atomic<bool>& stop,
                       app::HtmlReport& page);

}  // namespace lw::gen::endpoint
