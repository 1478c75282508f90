// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "gen/commands/perf_options.h"
#include "gen/perf/traffic/perf_run.h"

namespace lw::gen {

/// perf as typed.
struct PerfCommand {
  PerfOptions options;
  EndpointOptions endpoint;
  PeerOptions peer;
  std::string pcap;
  std::vector<std::string> points;  // of it
  bool sim = false, all_sizes = false, json = false;

  std::string study;  // where the study of buffers goes
  std::string series;

  [[nodiscard]] bool ping() const noexcept { return options.pattern == "ping"; }
  [[nodiscard]] bool latency() const noexcept { return options.pattern == "lat" || ping(); }
  /// Counted as the RDMA programming study does, not as perftest.
  [[nodiscard]] bool study_pattern() const noexcept { return ping() || options.pattern == "blast"; }
};

/// Refuses what doesn't go together, as CLI11's usage errors: above all what goes with virtual or
/// with real time alone.
void check_usage(const CLI::App& command, const PerfCommand& options);

}  // namespace lw::gen
