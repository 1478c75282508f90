// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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
  /// UC and UD: messages sent that didn't arrive completely.
  std::optional<std::uint64_t> lost_messages = {};
  /// UC: nobody counted which messages arrived, so all rates are those of what was sent.
  bool arrivals_unknown = false;
  report::Json where;    // for JSON: the path or the port
  double cpu_share = 0;  // share of one core used by this process; 0 in a simulation

  /// A signal ended the run before its end.
  [[nodiscard]] bool incomplete() const noexcept { return bandwidth.stopped || latency.stopped; }
  [[nodiscard]] std::uint64_t failed() const noexcept { return bandwidth.failed + latency.failed; }
};

// The columns of perftest first, so that its users and scripts can read them.

/// A line that says so of an incomplete run; empty for others.
std::string incomplete_line(const PerfOutcome& outcome);
/// A line about messages that didn't arrive, or that nobody counted; empty: all arrived, or a
/// reliable transport says so.
std::string arrivals_line(const PerfOutcome& outcome);

std::string bandwidth_header();
/// `size` is in bytes. All rates are goodput. A last column, which perftest lacks, is the steady
/// rate, without the start; "BW peak" is that of its better half. Both are 0.00 if the run was too
/// short.
std::string bandwidth_line(std::uint32_t size, const sim::BandwidthResult& result);
/// Settings and figures, by name.
report::Json bandwidth_values(const sim::PerfConfig& config, const PerfOutcome& outcome);
std::string bandwidth_json(const sim::PerfConfig& config, const PerfOutcome& outcome);

std::string latency_header();
std::string latency_line(std::uint32_t size, const sim::LatencyResult& result);
report::Json latency_values(const sim::PerfConfig& config, const PerfOutcome& outcome);
std::string latency_json(const sim::PerfConfig& config, const PerfOutcome& outcome);

// ping and blast, counted as in the RDMA programming study. Throughput is messages x size /
// elapsed, from the first post to the last completion. One-way time is elapsed / messages, and half
// of that for ping.

std::string study_header();
std::string study_line(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome);
report::Json study_values(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome);
std::string study_json(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome);

}  // namespace lw::gen
