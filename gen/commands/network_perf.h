// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "app/html_report.h"
#include "app/verdicts.h"
#include "gen/network/network_options.h"

namespace lw::gen {

/// Where `perf --sim --network` writes.
struct NetworkOutputs {
  app::Verdicts& verdicts;
  app::HtmlReport& html;
  bool json = false;
  std::string series;                    // CSV of the ports over time; empty: none
  std::string pcap;                      // capture; empty: none
  std::vector<std::string> points = {};  // that it captures at, "FROM:TO"
};

/// Checks the options that are given beside --network.
Result<void> check_network_usage(const app::Given& given);

/// Runs the workload of a network and prints the report.
ExitCode perf_on_network(const NetworkOptions& options, const PerfOptions& perf,
                         NetworkOutputs outputs, const std::atomic<bool>& stop);

}  // namespace lw::gen
