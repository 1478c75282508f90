// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "sim/perf.h"

namespace lw::gen {

/// What perf and plan ask alike: the operation, its windows, the NIC and the path.
struct PerfOptions {
  std::string operation = "write";
  bool immediate = false;
  std::string path;  // a path profile
  std::optional<Duration> delay;
  sim::PerfConfig config;
};

/// Adds the options to a command; perf_config() reads them afterwards.
void add_perf_options(CLI::App* command, PerfOptions& options);

/// The run that the options describe, its path loaded. Errors: the path profile's; a size or a
/// combination that can't be.
Result<sim::PerfConfig> perf_config(const PerfOptions& options);

}  // namespace lw::gen
