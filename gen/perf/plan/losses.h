// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/plan/quantities.h"

namespace lw::gen::planning {

/// How losses are detected and repaired. `p` is the probability of a packet's loss, in either
/// direction.
struct Losses {
  double p = 0;
  double recoveries = 0;  // mean number per packet: its own loss, or that of its request
  double waits = 0;       // mean number of waits for the timer per packet
  double timer = 0;       // ns
  double timeout = 0;     // mean wait for the timer per packet, in ns
};

Losses losses_of(const Quantities& given, const perf::PerfConfig& config, double p) noexcept;

/// Returns the number of packets that a QP sends in vain between a loss and its NAK: its share of
/// what the port sends in a round trip, or the rest of its burst.
double wasted_packets(const Quantities& given, const perf::PerfConfig& config) noexcept;

/// Returns the throughput in bit/s with independent losses of probability `p`. `lossless`: packets
/// per ns without losses.
double throughput_of(const perf::PerfConfig& config, const Quantities& given, double lossless,
                     double p);
/// Returns the loss that reduces the throughput by a tenth, by bisection of its logarithm.
double loss_for_a_tenth(const perf::PerfConfig& config, const Quantities& given, double lossless);
/// Returns the share of the throughput that the waits for the timer cost.
double share_of_waits(const perf::PerfConfig& config, const Quantities& given, double lossless);
/// Whether losses cost so little that they change nothing else.
bool loses_little(const perf::PerfConfig& config, const Quantities& given, double lossless);

}  // namespace lw::gen::planning
