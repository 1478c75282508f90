// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "sim/perf.h"

namespace lw::sim {

/// Several hosts send to one host, through one link that they share.
struct IncastConfig {
  std::uint32_t senders = 2;  // hosts, each with perf.qps QPs
  lw::perf::PerfConfig perf;  // SEND or WRITE; its duration > 0
  Duration sample = std::chrono::milliseconds(1);
  /// Senders in lockstep are unrealistic: of two packets that always meet at a full queue, the same
  /// one always gets in. So each sender starts at a random time in [0, start_within), and its
  /// NIC's clock is off by up to clock_ppm (IEEE 802.3 allows 100). Both use the path's seed.
  Duration start_within = std::chrono::milliseconds(1);
  double clock_ppm = 100;
};

/// One sender, in the sampling interval that ends at `at`.
struct IncastSample {
  Instant at;
  std::uint32_t sender = 0;
  double goodput_bps = 0;  // payload of messages completed
  double allowed_bps = 0;  // by congestion control, sum of its QPs
};

struct IncastResult {
  std::vector<IncastSample> samples;  // by time, then by sender
  std::vector<double> flow_bps;       // of each QP, payload completed in the run's second half
  std::uint64_t packets = 0, retransmitted = 0, timeouts = 0, failed = 0;
  std::optional<perf::Failure> failure;  // the first of `failed`; host 1 is the first sender
  std::uint64_t cnps = 0;
  perf::PathCounters link;  // the shared one

  [[nodiscard]] double total_bps() const noexcept;
  /// Jain's fairness index of the flows: 1 when all rates are equal, 1/n when one flow has all.
  [[nodiscard]] double fairness() const noexcept;
};

IncastResult run_incast(const IncastConfig& config, const PerfHook& hook = {});

}  // namespace lw::sim
