// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "gen/commands/perf_runs.h"
#include "gen/network/network_options.h"
#include "gen/network/network_report.h"

namespace lw::gen {

/// The options of `roce-gen sim`: two hosts and a path, or a network of hosts.
struct SimCommand : PerfRuns {
  NetworkOptions network;
  std::vector<std::string> points;  // capture points for `pcap`
  std::string drawing;              // of the network, instead of a run
  std::string study;                // folder for the study of buffers
  bool live = false;                // show the live view

  [[nodiscard]] bool on_network() const noexcept { return !network.network.empty(); }
  /// The report whose figures --expect names.
  [[nodiscard]] const JsonOutput& judged_output() const noexcept {
    return on_network() ? kNetworkOutput : output_of(pattern());
  }
};

/// Checks that the given options of `roce-gen sim` may be combined. Errors name the remedy.
Result<void> check_usage(const app::Given& given, const SimCommand& command);

}  // namespace lw::gen
