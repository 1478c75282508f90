// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "gen/perf/options/perf_options.h"
#include "gen/perf/report/perf_files.h"
#include "gen/perf/report/perf_report.h"

namespace lw::gen {

/// The responder of a real-time run.
struct PeerOptions {
  std::string ip;     // address of `roce-gen respond`, or HOST:PORT of `roce-endpoint serve`
  std::string token;  // token for roce-endpoint
  std::string cm;     // HOST:SERVICE of a program that uses rdma_cm; replaces `ip`
  std::string mac;    // empty: resolved
  std::vector<std::byte> data;  // contents of the messages to a device; empty: a pattern
  Verify verify = Verify::all;
  [[nodiscard]] const std::string& name() const noexcept { return cm.empty() ? ip : cm; }
  /// Returns true if the peer's QPs belong to a device, and roce-endpoint hands them over.
  [[nodiscard]] bool device() const noexcept {
    return cm.empty() && !ip.empty() && !wire::parse_ip(ip);
  }
};

/// Runs one configuration.
using PerfMeasure = std::function<Result<PerfOutcome>(const sim::PerfConfig&)>;

/// Opens the port, resolves the responder, calls `run`, which may measure several times, and closes
/// the port. `latency`: ping-pongs; otherwise messages as fast as possible. `series` records the
/// QPs' state. Errors: those of the port, no responder, a rate control without a rate, errors of
/// `run`.
Result<void> run_in_real_time(const EndpointOptions& options, const PeerOptions& peer, bool latency,
                              PerfSeries& series, const std::atomic<bool>& stop,
                              const std::function<Result<void>(const PerfMeasure&)>& run);

}  // namespace lw::gen
