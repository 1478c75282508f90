// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "gen/perf/options/perf_options.h"
#include "gen/perf/traffic/perf_run.h"

namespace lw::gen {

/// The options of `roce-gen perf`.
struct PerfCommand {
  PerfOptions options;
  EndpointOptions endpoint;
  PeerOptions peer;
  std::string pcap;
  std::vector<std::string> points;  // capture points of `pcap`
  bool sim = false, all_sizes = false, json = false;

  std::string study;  // folder for the study of buffers
  std::string series;

  [[nodiscard]] bool ping() const noexcept { return options.pattern == "ping"; }
  [[nodiscard]] bool latency() const noexcept { return options.pattern == "lat" || ping(); }
  /// Counted as the RDMA programming study does, not as perftest.
  [[nodiscard]] bool study_pattern() const noexcept { return ping() || options.pattern == "blast"; }
};

/// Checks that the given options may be combined. Errors name what to do instead.
Result<void> check_usage(const app::Given& given, const PerfCommand& options);

}  // namespace lw::gen
