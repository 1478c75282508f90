// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>

#include "gen/perf/options/endpoint_options.h"
#include "gen/perf/report/perf_report.h"
#include "gen/perf/report/perf_series.h"

namespace lw::gen {

/// Who perf talks to in real time.
struct PeerOptions {
  std::string ip;   // as typed
  std::string mac;  // empty: asked for
};

/// Runs one configuration.
using PerfMeasure = std::function<Result<PerfOutcome>(const sim::PerfConfig&)>;

/// Opens the port, finds the responder, lets `run` measure as often as it likes, and closes.
/// `latency`: ping-pongs, else as fast as possible. `series` gets what the QPs are at.
/// Errors: the port's, nobody there, a rate control without a rate, what `run` returns.
Result<void> run_in_real_time(const EndpointOptions& options, const PeerOptions& peer, bool latency,
                              PerfSeries& series, const std::atomic<bool>& stop,
                              const std::function<Result<void>(const PerfMeasure&)>& run);

}  // namespace lw::gen
