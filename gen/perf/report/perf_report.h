// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "report/json_line.h"
#include "sim/perf.h"

namespace lw::gen {

/// What a run of one size came to, wherever it ran.
struct PerfOutcome {
  sim::BandwidthResult bandwidth;  // of a bandwidth run, else
  sim::LatencyResult latency;
  std::uint64_t wrong = 0;  // messages whose bytes weren't those that were sent
  /// Of UC and UD: messages that were sent and didn't arrive whole.
  std::optional<std::uint64_t> lost_messages = {};
  report::Json where;    // what JSON says of the path or the port
  double cpu_share = 0;  // of one core that this process took; 0: virtual time takes none

  [[nodiscard]] std::uint64_t failed() const noexcept { return bandwidth.failed + latency.failed; }
};

// perftest's own columns, so that its readers and scripts are at home.

std::string bandwidth_header();
/// `size` in bytes. "BW peak" is the steady rate, the beginning left out; 0.00 where a run was
/// too short for one.
std::string bandwidth_line(std::uint32_t size, const sim::BandwidthResult& result);
/// Settings and figures by name.
report::Json bandwidth_values(const sim::PerfConfig& config, const PerfOutcome& outcome);
std::string bandwidth_json(const sim::PerfConfig& config, const PerfOutcome& outcome);

std::string latency_header();
std::string latency_line(std::uint32_t size, const sim::LatencyResult& result);
report::Json latency_values(const sim::PerfConfig& config, const PerfOutcome& outcome);
std::string latency_json(const sim::PerfConfig& config, const PerfOutcome& outcome);

// ping and blast, as the RDMA programming study counts: throughput is messages x size / elapsed,
// from the first post to the last completion; the one-way time is elapsed / messages of a blast,
// half of that of a ping.

std::string study_header();
std::string study_line(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome);
std::string study_json(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome);

}  // namespace lw::gen
