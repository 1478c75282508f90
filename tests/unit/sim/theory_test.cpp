// SPDX-License-Identifier: BSD-3-Clause
// Simulated runs beside closed formulas, which no part of the engine contains.
#include <algorithm>
#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "sim/perf.h"

namespace lw::sim {
namespace theory_test {

using wire::Operation;

constexpr double kLine = 100e9;
constexpr std::uint32_t kMtu = 4096;

/// Bytes of a WRITE on an Ethernet line: 82 around each payload, 16 of RETH once.
double line_bytes_of(std::uint32_t size) {
  const std::uint32_t packets = std::max(1u, (size + kMtu - 1) / kMtu);
  return std::max(84.0, size + 82.0 * packets + 16);
}

/// km, bytes, outstanding work requests a QP, QPs.
class WindowLaw
    : public testing::TestWithParam<std::tuple<int, std::uint32_t, std::uint32_t, std::uint32_t>> {
};

TEST_P(WindowLaw, throughput_is_the_lesser_of_line_and_window) {
  const auto [km, size, depth, qps] = GetParam();
  PerfConfig config;
  config.size = size;
  config.qps = qps;
  config.qp.tx_depth = config.qp.max_outstanding_wqe = depth;
  config.qp.timeout = 20;
  config.path.one_way = Duration{static_cast<std::int64_t>(km * 4897.3)};
  const double serial = line_bytes_of(size) * 8 / kLine;
  const double ack = 86 * 8 / kLine;  // 82 and an AETH
  const double round_trip = 2e-9 * static_cast<double>(config.path.one_way.count()) + 2e-6 + ack;
  const double line = size * 8 / serial;
  const double window = size * 8.0 * depth * qps / (round_trip + serial);
  const BandwidthResult result = run_bandwidth(config);
  EXPECT_NEAR(result.steady_bps / std::min(line, window), 1, 0.005);
  EXPECT_EQ(result.retransmitted, 0u);
  EXPECT_EQ(result.failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Grid, WindowLaw,
                         testing::Combine(testing::Values(1, 80, 1000),
                                          testing::Values(64u, 4096u, 65536u, 1u << 20),
                                          testing::Values(1u, 16u, 128u), testing::Values(1u, 4u)));

TEST(PsnWindow, holds_back_what_it_should) {
  PerfConfig config;
  config.size = 1 << 20;
  config.qp.psn_window = 1000;
  config.qp.ack_every = 1;
  config.path.one_way = std::chrono::milliseconds(1);
  const double round_trip = 2.002e-3 + 86 * 8 / kLine;
  const double packet = (kMtu + 82) * 8 / kLine;
  const double law = 1000 * kMtu * 8.0 / (round_trip + packet);
  EXPECT_NEAR(run_bandwidth(config).steady_bps / law, 1, 0.005);
}

TEST(Path, may_be_longer_one_way) {
  PerfConfig config;
  config.operation = Operation::read_request;
  config.size = 8;
  config.iterations = 1;
  config.path.one_way = std::chrono::milliseconds(1);
  config.path.way_back = std::chrono::milliseconds(3);
  // Both ways, 0.5 us four times, 98 and 94 B on the line.
  const double expected = 4'002'000 + (98 + 94) * 8 / kLine * 1e9;
  EXPECT_NEAR(static_cast<double>(run_latency(config).ns.maximum()), expected, 2);
}

TEST(SelectiveRepeat, loses_only_what_was_lost) {
  PerfConfig config;
  config.size = kMtu;
  config.qp.tx_depth = config.qp.max_outstanding_wqe = 8192;
  config.qp.timeout = 16;
  config.qp.recovery = transport::Recovery::selective_repeat;
  config.path.one_way = Duration{200'000};
  config.path.loss = 1e-4;
  config.iterations = 200'000;
  const BandwidthResult result = run_bandwidth(config);
  ASSERT_EQ(result.failed, 0u);
  EXPECT_GT(result.retransmitted, 5u);
  EXPECT_LT(result.retransmitted, 50u);  // 20 lost, their own losses and a lost ACK's timeout
}

}  // namespace theory_test
}  // namespace lw::sim
