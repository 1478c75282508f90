// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "app/html_report.h"
#include "app/verdicts.h"
#include "gen/network/network_options.h"

namespace lw::gen {

/// Where a run on a network writes.
struct NetworkOutputs {
  app::Verdicts& verdicts;
  app::HtmlReport& html;
  bool json = false;
  std::string series;                    // CSV of the ports over time; empty: none
  std::string pcap;                      // capture; empty: none
  std::vector<std::string> points = {};  // that it captures at, "FROM:TO"
};

/// Runs the workload of a network and prints the report.
ExitCode run_on_network(const NetworkOptions& options, const PerfOptions& perf,
                        NetworkOutputs outputs, const std::atomic<bool>& stop);

}  // namespace lw::gen
