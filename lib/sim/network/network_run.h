// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <vector>

#include "sim/job/jobs.h"
#include "sim/network/deadlock.h"
#include "sim/network/workload.h"

namespace lw::sim {

/// A run of a workload on a network.
struct NetworkRunConfig {
  Topology topology;
  WorkloadConfig workload;
  std::vector<JobConfig> jobs = {};
  // Operation, size, QPs, NICs, seed, duration > 0, stop; the path is not used.
  lw::perf::PerfConfig perf;
  Duration sample = std::chrono::milliseconds(1);
  Duration warm_up{};         // figures of a steady state leave it out; below the duration
  std::uint32_t threads = 1;  // at least 1; results do not depend on it
};

/// An output port of a switch: counts, and those after the warm-up.
struct PortResult {
  Node node = 0, to = 0;
  std::uint32_t cable = 0;
  PortCounters all{}, late{};
  double utilization = 0;  // share of the cable's rate, after the warm-up
  double mean_bytes = 0;   // in the queue, after the warm-up
};

/// A port in the interval that ends at `at`.
struct PortSample {
  Instant at;
  std::uint32_t port = 0;  // index in ports
  double utilization = 0;
  std::uint64_t most_bytes = 0, marked = 0, dropped = 0;
  Duration paused{};
};

/// Completion of flows that end, by size: times in us, and times the time alone in the network.
struct SizeResult {
  std::uint64_t bytes = 0;
  std::uint64_t flows = 0;
  double mean_us = 0, p50_us = 0, p99_us = 0, most_us = 0;
  double mean_slowdown = 0, p99_slowdown = 0;
};

/// Times from post to completion of a QP's messages after the warm-up, in us. A send queue that is
/// always full adds its own wait.
struct MessageTimes {
  std::uint64_t messages = 0;
  double p50_us = 0, p99_us = 0, most_us = 0;
};

/// A PFC deadlock: see Deadlock.
struct DeadlockResult {
  std::vector<std::uint32_t> ports;  // indices in ports, in the order in which they wait
  Instant since;
};

struct NetworkResult {
  Duration elapsed{};  // the duration, or until the last flow and the last job ended
  std::vector<JobResult> jobs;
  std::vector<FlowResult> flows;
  double total_bps = 0;                    // payload completed after the warm-up, over time
  std::vector<double> flow_bps;            // by flow; empty with a load
  std::vector<MessageTimes> flow_latency;  // of the first Workload::kMostLatencies of them
  std::vector<PortResult> ports;
  std::vector<PortSample> samples;  // by time, then by port
  std::vector<SizeResult> sizes;    // by size, of flows that ended
  std::uint64_t packets = 0, retransmitted = 0, timeouts = 0, failed = 0, cnps = 0;
  std::optional<perf::Failure> failure;
  Duration hosts_paused{};                // sum of all hosts
  std::vector<DeadlockResult> deadlocks;  // each once, in the order in which they were found
  std::uint64_t events = 0;
  bool stopped = false;

  /// Jain's index of the flows' rates: 1 when all are equal, 1/n when one flow has all. Nothing
  /// with a load, or if no flow has a rate.
  [[nodiscard]] std::optional<double> fairness() const noexcept;
  [[nodiscard]] std::uint64_t dropped() const noexcept;
  [[nodiscard]] std::uint64_t late_dropped() const noexcept;
  [[nodiscard]] std::uint64_t marked() const noexcept;
};

/// The time that a flow of `bytes` takes alone in the network: from its post to its completion.
Duration alone_time(const Network& network, const perf::PerfConfig& perf, Node from, Node to,
                    std::uint64_t bytes);

/// Called once hosts, switches and links exist, before the run.
using NetworkHook = std::function<void(Network&)>;
/// Called after each sample with the share of the run that is done.
using NetworkProgress = std::function<void(double)>;

NetworkResult run_network(const NetworkRunConfig& config, const NetworkHook& hook = {},
                          const NetworkProgress& progress = {});

}  // namespace lw::sim
