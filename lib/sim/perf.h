// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>

#include "perf/config.h"
#include "perf/result.h"
#include "sim/intervals.h"
#include "sim/simulation.h"

namespace lw::sim {

/// The span in which the steady rate is measured. If all windows together are small compared with
/// the path, they limit the rate and repeat: the rate is measured over whole windows of
/// completions, after 2 to 18 windows that are not counted. Otherwise the payload is measured that
/// arrives in whole steps of about a round trip, after the first three steps, for at least the time
/// of 10,000 packets.
struct SteadySpan {
  // By completions; a stride of 0: by time.
  std::uint64_t begin = 0, stride = 0, end = 0;
  // By time.
  Instant from = {}, to = {};
  Duration step = {};

  [[nodiscard]] bool by_count() const noexcept { return stride > 0; }
};
SteadySpan steady_span(const perf::PerfConfig& config) noexcept;

/// Called once the simulation and its hosts are set up, before the run.
using PerfHook = std::function<void(Simulation&)>;

perf::BandwidthResult run_bandwidth(const perf::PerfConfig& config, const PerfHook& hook = {},
                                    const IntervalListener& intervals = {});
/// `iterations` or `duration` above 0, and at least one message; one QP.
perf::LatencyResult run_latency(const perf::PerfConfig& config, const PerfHook& hook = {},
                                const IntervalListener& intervals = {});

}  // namespace lw::sim
