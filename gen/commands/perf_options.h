// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "sim/perf.h"

namespace lw::gen {

/// What perf, plan and experiment ask alike: the operation, its windows, the NIC and the path; and
/// what only a run asks: its pattern and length, and how it recovers.
struct PerfOptions {
  std::string operation = "write";
  bool immediate = false;
  std::string path;  // a path profile
  std::optional<Duration> delay;
  std::optional<double> km;
  std::string pattern = "bw";  // or lat, ping, blast
  std::uint32_t buffers = 8;   // of a blast
  std::optional<double> loss, mark;
  unsigned timeout = 18;  // 1.07 s, as perftest's own for long paths: no expiry without a loss
  unsigned retries = 7;
  bool selective = false;
  sim::PerfConfig config;
};

/// Adds what a plan needs too to a command; perf_config() reads it afterwards.
void add_perf_options(CLI::App* command, PerfOptions& options);
/// Adds what only a run needs.
void add_run_options(CLI::App* command, PerfOptions& options);

/// Whether runs of different seeds differ.
[[nodiscard]] bool by_chance(const sim::PerfConfig& config) noexcept;

/// The run that the options describe, its path loaded. Errors: the path profile's; a size or a
/// combination that can't be. Without `simulated` there is no path to be said.
Result<sim::PerfConfig> perf_config(const PerfOptions& options, bool simulated = true);

}  // namespace lw::gen
