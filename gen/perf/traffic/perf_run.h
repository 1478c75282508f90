// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>

#include "gen/perf/options/perf_options.h"
#include "gen/perf/report/perf_files.h"
#include "gen/perf/report/perf_report.h"

namespace lw::gen {

/// The responder of a real-time run.
struct PeerOptions {
  std::string ip;   // as typed
  std::string mac;  // empty: resolved
};

/// Runs one configuration.
using PerfMeasure = std::function<Result<PerfOutcome>(const sim::PerfConfig&)>;

/// Opens the port, resolves the responder, calls `run`, which may measure repeatedly, and closes.
/// `latency`: ping-pongs; otherwise as fast as possible. `series` records the QPs' state.
/// Errors: the port's, no responder, a rate control without a rate, the errors of `run`.
Result<void> run_in_real_time(const EndpointOptions& options, const PeerOptions& peer, bool latency,
                              PerfSeries& series, const std::atomic<bool>& stop,
                              const std::function<Result<void>(const PerfMeasure&)>& run);

}  // namespace lw::gen
