// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "config/impair/profile.h"
#include "core/error.h"
#include "impair/control/live_profile.h"
#include "impair/datapath/idle.h"
#include "impair/report/report.h"
#include "nic/port_spec.h"

namespace lw::impair {

struct RunConfig {
  nic::PortSpec west, east;
  std::optional<Duration> duration;          // none: until a signal, or the end of all files
  std::optional<Duration> until_idle;        // stop when nothing has come in for so long
  Duration wait = std::chrono::seconds(30);  // for the links
  std::optional<std::string> ledger;         // a file for the ledger
  std::optional<std::string> capture;        // a pcapng file for what comes in and goes out
  std::uint32_t capture_bytes = 0;           // of each frame; 0: all
  std::optional<std::string> ready_file;     // made once both links are up
  IdleMode idle = IdleMode::adaptive;
  unsigned cores = 1;                  // 2: a direction each
  std::optional<int> core;             // to pin to
  std::optional<int> second_core;      // and where the second is pinned to
  bool verbose = false;                // DPDK's own log
  std::optional<std::string> control;  // a Unix socket for `roce-impair ctl`
  std::optional<std::string> metrics;  // an address for Prometheus' metrics
  bool telemetry = false;              // /impair/... in DPDK's telemetry
  std::string file_prefix = {};        // of DPDK's runtime directory; empty: one of its own
};

/// Stands between two ports until asked to stop, drains what is in flight, and reports. Notices
/// and a line now and then go to stderr. Once a process: it starts EAL and handles signals.
Result<Report> run(const LiveProfile::Version& profile, const RunConfig& config);

}  // namespace lw::impair
