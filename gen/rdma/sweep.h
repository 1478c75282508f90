// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "report/json_line.h"

namespace lw::gen::rdma {

/// A parameter, named as the option ("size"), and the texts of its values.
struct SweepParameter {
  std::string name;
  std::vector<std::string> values;  // not empty
};

/// Parses "size=4KiB,64KiB".
Parsed<SweepParameter> parse_sweep_parameter(std::string_view text);

/// Values of one combination: parameter and text.
using SweepPoint = std::vector<std::pair<std::string, std::string>>;

/// Real runs for all combinations of some parameters, written as `roce-gen experiment` writes
/// simulated ones: NAME.csv, NAME.json, NAME.txt and a plot FIGURE.svg for each figure.
struct Sweep {
  std::string name, title;
  std::vector<SweepParameter> parameters;  // the first changes slowest, and is a plot's x
  std::uint32_t repeats = 1;
  std::vector<std::string> figures;  // shown in the table, and plotted
  /// Settings and figures of a run, by name. Errors: those of the run, which end the sweep.
  std::function<Result<report::Json>(const SweepPoint&)> run;
};

/// The files that a sweep writes into `folder`.
std::vector<std::string> sweep_files(const Sweep& sweep, const std::string& folder);

/// Runs a sweep and writes its files, also when a run fails or `stop` is set: then those of the
/// finished combinations. Errors: of a run; a file that can't be written; interrupted (failed).
Result<void> run_sweep(const Sweep& sweep, const std::string& folder,
                       const std::atomic<bool>& stop);

}  // namespace lw::gen::rdma
