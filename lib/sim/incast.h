// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "sim/perf.h"

namespace lw::sim {

/// Several hosts send to one, through one line that they share: what DCQCN was made for.
struct IncastConfig {
  std::uint32_t senders = 2;  // hosts, each with perf.qps QPs
  PerfConfig perf;            // SEND or WRITE; its duration > 0
  Duration sample = std::chrono::milliseconds(1);
  /// Equal senders in lockstep are nobody's network: of two packets that always meet at a full
  /// queue, the same one always gets in. So each begins at an instant of its own in [0, this), and
  /// its NIC's clock is off by up to so many ppm (IEEE 802.3 allows 100); both by the mishaps'
  /// seed.
  Duration start_within = std::chrono::milliseconds(1);
  double clock_ppm = 100;
};

/// What one sender did in the sample that ends at `at`.
struct IncastSample {
  Instant at;
  std::uint32_t sender = 0;
  double goodput_bps = 0;  // payload of messages completed
  double allowed_bps = 0;  // by congestion control, all its QPs together
};

struct IncastResult {
  std::vector<IncastSample> samples;  // by time, then by sender
  std::vector<double> flow_bps;       // of each QP, payload completed in the run's second half
  std::uint64_t packets = 0, retransmitted = 0, timeouts = 0, failed = 0;
  std::uint64_t cnps = 0;
  LineCounters line;  // the shared one

  [[nodiscard]] double total_bps() const noexcept;
  /// Jain's index of the flows: 1 where all get the same, 1/n where one gets all.
  [[nodiscard]] double fairness() const noexcept;
};

IncastResult run_incast(const IncastConfig& config, const PerfHook& hook = {});

}  // namespace lw::sim
