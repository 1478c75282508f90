// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/error.h"
#include "perf/config.h"
#include "sim/job/jobs.h"
#include "sim/network/workload.h"

namespace lw::gen {

/// A network and what its hosts send.
struct NetworkFile {
  std::string name, title;
  sim::Topology topology;
  sim::WorkloadConfig workload;
  std::vector<sim::JobConfig> jobs;
};

/// Reads a network; docs/reference/roce-gen-network.md lists the keys. `name` is a path or the bare
/// name of one of profiles/networks. `perf`: the run, of whose NICs and QPs PFC's headroom depends;
/// the file's `nic` changes it, unless `nic` names another profile. Errors (usage): a line per
/// error, with file, line and column, also for a host that another cannot reach, and for a link
/// that needs more headroom than its switch's buffer has.
Result<NetworkFile> load_network(const std::string& name, const std::string& nic,
                                 perf::PerfConfig& perf);

}  // namespace lw::gen
