// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "gen/app/common_run.h"
#include "gen/commands/perf_runs.h"

namespace lw::gen {

/// The options of `roce-gen perf`, through a port and in real time.
struct PerfCommand : PerfRuns {
  EndpointOptions endpoint;
  PeerOptions peer;
  std::string data;                 // file that the messages carry
  Duration most_skew = kUsualSkew;  // of the starts in a common run
};

/// Checks that the given options of `roce-gen perf` may be combined. Errors name the remedy.
Result<void> check_usage(const app::Given& given, const PerfCommand& command);

}  // namespace lw::gen
