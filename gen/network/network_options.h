// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "app/command_line.h"
#include "gen/network/network_file.h"
#include "gen/perf/options/perf_options.h"
#include "sim/network/network_run.h"

namespace lw::gen {

/// The options of a run on a network, besides perf's.
struct NetworkOptions {
  std::string network;  // a file, or the name of one in profiles/networks
  Duration sample = std::chrono::milliseconds(1);
  Duration warm_up{};       // 0: half of the duration
  std::uint32_t cores = 0;  // for parts of the network; 0: all
};

/// A run, and the file that it is from.
struct NetworkSetup {
  NetworkFile file;
  sim::NetworkRunConfig config;
};

/// Adds --network, and add_sampling_options().
void add_network_options(app::Options& options, NetworkOptions& network);
/// Adds --sample and --warm-up.
void add_sampling_options(app::Options& options, NetworkOptions& network);

/// Reads the network, and checks it against perf's options. Errors (usage): of the file; an
/// operation other than SEND or WRITE; no duration; options of a path, whose place the network
/// takes, or of other runs.
Result<NetworkSetup> network_run_of(const NetworkOptions& options, const PerfOptions& perf_options);

}  // namespace lw::gen
