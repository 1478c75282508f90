// SPDX-License-Identifier: BSD-3-Clause
// Simulated runs end at a number of packets, whatever they are asked.
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "sim/perf.h"

namespace lw::sim {
namespace bounds_test {

constexpr std::uint64_t kMost = 20'000;

/// Packets of the requester that enter the path of a run.
std::uint64_t packets_of_run(const perf::PerfConfig& config) {
  std::uint64_t packets = 0;
  run_bandwidth(config, [&](Simulation& simulation) {
    simulation.link(0).on_enter = [&](Instant, const transport::Packet&) { ++packets; };
  });
  return packets;
}

perf::PerfConfig large_messages() {
  perf::PerfConfig config;
  config.size = 1u << 30;
  config.qps = 8;
  config.qp.mtu = 256;
  config.nic.rate_bps = 800e9;
  config.path.one_way = std::chrono::microseconds(10);
  config.path.loss = 1e-3;
  config.most_packets = kMost;
  return config;
}

TEST(Bounds, a_run_without_a_steady_rate_ends) {
  perf::PerfConfig config = large_messages();
  config.path.loss = 1e-6;
  const std::uint64_t packets = packets_of_run(config);
  EXPECT_GT(packets, kMost / 2);
  EXPECT_LT(packets, 2 * kMost);
}

/// What is posted takes 34 million packets; without a bound they were all simulated, and what was
/// lost of them again, for 10 s of virtual time.
TEST(Bounds, the_search_for_qps_that_wait_for_ever_ends) {
  perf::PerfConfig config = large_messages();
  config.qp.timeout = 0;
  const std::uint64_t packets = packets_of_run(config);
  EXPECT_GT(packets, kMost / 2);
  EXPECT_LT(packets, 4 * kMost);
}

/// A QP that only awaits its turn is not stuck.
TEST(Bounds, qps_that_await_their_turn_are_not_stuck) {
  perf::PerfConfig config = large_messages();
  config.qp.timeout = 0;
  config.path.loss = 1e-9;
  config.qps = 200;
  config.most_packets = 1'000;
  EXPECT_EQ(run_bandwidth(config).stuck_qps, 0u);
}

}  // namespace bounds_test
}  // namespace lw::sim
