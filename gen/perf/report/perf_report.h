// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "report/json_line.h"
#include "sim/perf.h"

namespace lw::gen {

/// Result of a run with one message size, simulated or real.
struct PerfOutcome {
  sim::BandwidthResult bandwidth;  // of a bandwidth run
  sim::LatencyResult latency;
  std::uint64_t wrong = 0;  // messages received with wrong bytes
  /// UC and UD: messages that were sent but didn't arrive completely.
  std::optional<std::uint64_t> lost_messages = {};
  /// UC: the number of arrived messages is unknown, so all rates are those of sent messages.
  bool arrivals_unknown = false;
  report::Json where;    // description of the path or port, for JSON
  double cpu_share = 0;  // share of one core used by this process; 0 in a simulation

  /// Returns true if a signal ended the run early.
  [[nodiscard]] bool incomplete() const noexcept { return bandwidth.stopped || latency.stopped; }
  [[nodiscard]] std::uint64_t failed() const noexcept {
    return std::max(bandwidth.failed, latency.failed);
  }
  /// The first completion in error.
  [[nodiscard]] const std::optional<sim::Failure>& failure() const noexcept {
    return bandwidth.failure ? bandwidth.failure : latency.failure;
  }
  /// QPs that wait for ever.
  [[nodiscard]] std::uint32_t stuck_qps() const noexcept {
    return latency.stuck ? 1 : bandwidth.stuck_qps;
  }
};

// perftest's columns come first, so that its users and scripts can read them.

/// Returns a line that states that the run is incomplete; empty for complete runs.
std::string incomplete_line(const PerfOutcome& outcome);
/// Returns a line about messages that didn't arrive, or were not counted; empty if all arrived,
/// which is certain for a reliable transport.
std::string arrivals_line(const PerfOutcome& outcome);

/// Returns the rates of both directions of a run both ways; empty for other runs.
std::string ways_line(const sim::PerfConfig& config, const PerfOutcome& outcome);

std::string bandwidth_header();
/// Returns a row of results. `size` is in bytes; all rates are goodput. The last column, which
/// perftest doesn't have, is the steady rate, without the start of the run; "BW peak" is the rate
/// of the better half. Both are "-" if the run was too short.
std::string bandwidth_line(std::uint32_t size, const sim::BandwidthResult& result);
/// Returns a line about the steady rate: that it was not measured, or with random losses its 95 %
/// interval; may be empty.
std::string steady_line(const sim::PerfConfig& config, const sim::BandwidthResult& result);
/// "12 work requests failed; the first at 1.2 ms on QP 3 of the client: retry exceeded".
std::string failure_text(std::uint64_t failed, const std::optional<sim::Failure>& first);
/// Returns settings and figures by name.
report::Json bandwidth_values(const sim::PerfConfig& config, const PerfOutcome& outcome);
std::string bandwidth_json(const sim::PerfConfig& config, const PerfOutcome& outcome);

std::string latency_header();
std::string latency_line(std::uint32_t size, const sim::LatencyResult& result);
report::Json latency_values(const sim::PerfConfig& config, const PerfOutcome& outcome);
std::string latency_json(const sim::PerfConfig& config, const PerfOutcome& outcome);

// Results of ping and blast, as defined by the RDMA programming study. Throughput is messages x
// size / elapsed, from the first post to the last completion. One-way time is elapsed / messages,
// and half of that for ping.

std::string study_header();
std::string study_line(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome);
report::Json study_values(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome);
std::string study_json(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome);

}  // namespace lw::gen
