// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "app/command_line.h"
#include "core/error.h"
#include "sim/perf.h"

namespace lw::gen {

/// The options that perf, plan and experiment share (operation, windows, NIC, path), and those of
/// a run alone (pattern, length, recovery).
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

/// Adds the options that a plan has too; perf_config() evaluates them.
void add_perf_options(app::Options& list, PerfOptions& options);
/// Adds the options of a run alone.
void add_run_options(app::Options& list, PerfOptions& options);

/// Whether runs of different seeds differ.
[[nodiscard]] bool by_chance(const sim::PerfConfig& config) noexcept;

/// The run that the options describe, with its path loaded; only `simulated` runs have a path.
/// Errors: of the path profile, a size out of range, options that exclude each other.
Result<sim::PerfConfig> perf_config(const PerfOptions& options, bool simulated = true);

}  // namespace lw::gen
