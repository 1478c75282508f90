// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/traffic/latency_traffic.h"

namespace lw::gen {

/// The ping of a passive peer: a WRITE whose own completion nobody waits for, and behind it a READ
/// that brings it back. Half of both together counts. Send queues hold two requests at least.
class ReadBackTraffic : public LatencyTraffic {
 public:
  using LatencyTraffic::LatencyTraffic;
  void on_completion(Connection& connection, const transport::Completion& done) override;

 private:
  void ping() override;
};

}  // namespace lw::gen
