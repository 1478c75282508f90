// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "gen/perf/cm/connection_manager.h"
#include "gen/perf/options/perf_options.h"
#include "gen/perf/report/interval_report.h"
#include "gen/perf/report/perf_files.h"
#include "gen/perf/report/perf_report.h"
#include "gen/perf/session/frame_port.h"

namespace lw::gen {

class Companions;

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
using PerfMeasure = std::function<Result<PerfOutcome>(const perf::PerfConfig&)>;

/// Opens the port, resolves the responder, calls `run`, which may measure several times, and closes
/// the port. `latency`: ping-pongs; otherwise messages as fast as possible. `series` records the
/// QPs' state, `intervals` prints lines meanwhile. Errors: those of the port, no responder, a rate
/// control without a rate, errors of `run`.
Result<void> run_in_real_time(const EndpointOptions& options, const PeerOptions& peer, bool latency,
                              PerfSeries& series, IntervalReport& intervals,
                              const std::atomic<bool>& stop,
                              const std::function<Result<void>(const PerfMeasure&)>& run);

/// What one process of a common run does.
struct RankPart {
  OwnAddress own;
  std::vector<wire::IpAddress> peers;  // responders to send to; may be empty
  bool responds = false;               // to the others
};

/// What it has measured.
struct RankOutcome {
  std::optional<PerfOutcome> sent;  // none: it had no peers
  SessionReport served;             // all connections together; 0 unless it responds
  FramePortCounters port;
  Machine machine;
  Duration started_late{0};  // after the instant that all had agreed on
};

/// Runs one process's part of a common run over a port: connects to each of the peers with
/// config.qps connections, starts with the others, and answers them until all have finished. The
/// peers' addresses are resolved. Errors: those of run_in_real_time(), and of the others.
Result<RankOutcome> run_among_ranks(const EndpointOptions& options, const RankPart& part,
                                    Verify verify, const perf::PerfConfig& config,
                                    Companions& companions, const std::atomic<bool>& stop);

}  // namespace lw::gen
