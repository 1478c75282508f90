// SPDX-License-Identifier: BSD-3-Clause
// Simulated runs beside closed formulas, which no part of the engine contains.
#include <algorithm>
#include <atomic>
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
  perf::PerfConfig config;
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
  const perf::BandwidthResult result = run_bandwidth(config);
  EXPECT_NEAR(result.steady_bps / std::min(line, window), 1, 0.005);
  EXPECT_EQ(result.retransmitted, 0u);
  EXPECT_EQ(result.failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Grid, WindowLaw,
                         testing::Combine(testing::Values(1, 80, 1000),
                                          testing::Values(64u, 4096u, 65536u, 1u << 20),
                                          testing::Values(1u, 16u, 128u), testing::Values(1u, 4u)));

TEST(PsnWindow, holds_back_what_it_should) {
  perf::PerfConfig config;
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
  perf::PerfConfig config;
  config.operation = Operation::read_request;
  config.size = 8;
  config.iterations = 1;
  config.path.one_way = std::chrono::milliseconds(1);
  config.path.way_back = std::chrono::milliseconds(3);
  // Both ways, 0.5 us four times, 98 and 94 B on the line.
  const double expected = 4'002'000 + (98 + 94) * 8 / kLine * 1e9;
  EXPECT_NEAR(static_cast<double>(run_latency(config).ns.maximum()), expected, 2);
}

TEST(Latency, may_be_measured_for_a_time) {
  perf::PerfConfig config;
  config.operation = Operation::send;
  config.size = 64;
  config.path.one_way = std::chrono::microseconds(10);
  config.iterations = 1;
  const auto one = static_cast<double>(run_latency(config).ns.maximum());
  config.iterations = 0;
  config.duration = std::chrono::milliseconds(10);
  const perf::LatencyResult result = run_latency(config);
  // Each message goes there and back before the next one.
  EXPECT_NEAR(static_cast<double>(result.ns.count()), 10e6 / (2 * one), 1);
  EXPECT_FALSE(result.stuck || result.stopped);
  config.duration = Duration{1};  // at least one message is measured
  EXPECT_EQ(run_latency(config).ns.count(), 1u);
}

/// What the average of a run of its own length must be near, over paths and windows.
class Average
    : public testing::TestWithParam<std::tuple<Operation, int, std::uint32_t, std::uint32_t>> {};

TEST_P(Average, is_within_one_percent_of_the_steady_rate) {
  const auto [operation, us, size, qps] = GetParam();
  perf::PerfConfig config;
  config.operation = operation;
  config.size = size;
  config.qps = qps;
  config.qp.timeout = 20;
  config.path.one_way = std::chrono::microseconds(us);
  const perf::BandwidthResult result = run_bandwidth(config);
  EXPECT_NEAR(result.average_bps / result.steady_bps, 1, 0.01);
  EXPECT_GE(result.peak_bps, result.steady_bps);
}

INSTANTIATE_TEST_SUITE_P(Grid, Average,
                         testing::Combine(testing::Values(Operation::write,
                                                          Operation::read_request),
                                          testing::Values(0, 50), testing::Values(64u, 65536u),
                                          testing::Values(1u, 8u)));

/// Go-back-N discards what comes after a loss. None of it is in a rate.
TEST(Goodput, leaves_out_discarded_and_duplicate_packets) {
  perf::PerfConfig config;
  config.size = kMtu;
  config.qp.tx_depth = config.qp.max_outstanding_wqe = 8192;
  config.qp.timeout = 10;
  config.path.one_way = std::chrono::microseconds(200);
  config.path.loss = 1e-3;
  config.duration = std::chrono::milliseconds(200);
  const perf::BandwidthResult result = run_bandwidth(config);
  ASSERT_EQ(result.failed, 0u);
  EXPECT_LT(result.average_bps, 0.6 * kLine);  // half and more of what is sent is sent again
  EXPECT_NEAR(result.steady_bps / result.average_bps, 1, 0.02);
  EXPECT_NEAR(result.peak_bps / result.average_bps, 1, 0.2);
}

TEST(Simulation, ends_on_a_path_without_any_delay) {
  perf::PerfConfig config;
  config.size = 65536;
  config.nic.latency = Duration{};
  config.iterations = 1000;
  const perf::BandwidthResult result = run_bandwidth(config);
  EXPECT_EQ(result.messages, 1000u);
  EXPECT_NEAR(result.average_bps / kLine, 65536 / line_bytes_of(65536), 0.005);
  config.iterations = 0;
  EXPECT_NEAR(run_bandwidth(config).steady_bps / kLine, 65536 / line_bytes_of(65536), 0.005);
  config.operation = Operation::read_request;
  config.iterations = 1;
  EXPECT_EQ(run_latency(config).ns.count(), 1u);
}

/// An echo may arrive although the message's ACK is lost: a short send queue is still full.
TEST(Simulation, ping_pongs_go_on_after_a_lost_ack) {
  perf::PerfConfig config;
  config.iterations = 300;
  config.qp.tx_depth = config.qp.max_outstanding_wqe = 1;
  config.qp.timeout = 10;
  config.path.loss = 0.05;
  config.path.one_way = std::chrono::microseconds(20);
  for (const Operation operation : {Operation::send, Operation::write}) {
    config.operation = operation;
    EXPECT_EQ(run_latency(config).ns.count(), 300u);
  }
  config.read_back = true;
  EXPECT_EQ(run_latency(config).ns.count(), 300u);
}

/// A responder with few receives that come late: RNR NAKs, or with credits a sender that waits.
TEST(Receives, hold_back_sends) {
  perf::PerfConfig config;
  config.operation = Operation::send;
  config.size = 1024;
  config.iterations = 200;
  config.receives = 4;
  config.repost = std::chrono::microseconds(50);
  config.qp.rnr_timer = 1;  // 10 us
  config.path.one_way = std::chrono::microseconds(10);
  std::uint64_t naks = 0, with_credits = 0;
  const auto count = [](std::uint64_t& rnr) {
    return [&rnr](Simulation& simulation) {
      simulation.link(1).on_enter = [&rnr](Instant, const transport::Packet& packet) {
        rnr += (packet.syndrome >> 5) == 1 ? 1 : 0;
      };
    };
  };
  const perf::BandwidthResult rnr = run_bandwidth(config, count(naks));
  EXPECT_EQ(rnr.messages, 200u);
  EXPECT_GT(naks, 10u);
  // At best four messages in 50 us.
  EXPECT_GT(rnr.elapsed, std::chrono::microseconds(50) * (200 / 4 - 1));
  config.qp.end_to_end_credits = true;
  const perf::BandwidthResult credits = run_bandwidth(config, count(with_credits));
  EXPECT_EQ(credits.messages, 200u);
  EXPECT_LT(with_credits, naks);
  config.qp.rnr_timer = 14;  // 1.28 ms
  config.qp.end_to_end_credits = false;
  EXPECT_GT(run_bandwidth(config).elapsed, 2 * rnr.elapsed);
  config.qp.rnr_retry = 1;
  config.repost = std::chrono::milliseconds(10);
  EXPECT_GT(run_bandwidth(config).failed, 0u);
}

TEST(SelectiveRepeat, loses_only_what_was_lost) {
  perf::PerfConfig config;
  config.size = kMtu;
  config.qp.tx_depth = config.qp.max_outstanding_wqe = 8192;
  config.qp.timeout = 16;
  config.qp.recovery = transport::LossRecovery::selective_repeat;
  config.path.one_way = Duration{200'000};
  config.path.loss = 1e-4;
  config.iterations = 200'000;
  const perf::BandwidthResult result = run_bandwidth(config);
  ASSERT_EQ(result.failed, 0u);
  EXPECT_GT(result.retransmitted, 5u);
  EXPECT_LT(result.retransmitted, 50u);  // 20 lost, their own losses and a lost ACK's timeout
}

/// Mean completion time of one message of 128 MiB by selective repeat, beside the published closed
/// form (Khalilov et al., "SDR-RDMA", arXiv 2505.05366): T = max over packets i of (i t + O (Y_i -
/// 1))
/// + RTT, with Y_i geometric and O = RTT + t where each loss is reported. 400 Gb/s, 25 ms.
TEST(SelectiveRepeat, takes_the_time_of_the_closed_form) {
  constexpr double kIdealMs = 27.684;
  // Loss, and the closed form's mean in units of the ideal time.
  const std::pair<double, double> rows[] = {
      {1e-6, 1.03}, {1e-5, 1.23}, {1e-4, 1.84}, {1e-3, 1.93}, {1e-2, 2.76}};
  for (const auto& [loss, published] : rows) {
    perf::PerfConfig config;
    config.size = 128 << 20;
    config.iterations = 1;
    config.nic.rate_bps = 400e9;
    config.nic.latency = {};
    config.path.one_way = std::chrono::microseconds(12'500);
    config.path.loss = loss;
    config.qp.recovery = transport::LossRecovery::selective_repeat;
    config.qp.timeout = 14;  // 67 ms: 2.7 round trips
    double sum = 0;
    const int runs = loss < 1e-4 ? 60 : 30;
    for (int run = 0; run < runs; ++run) {
      config.path.seed = static_cast<std::uint64_t>(run) + 1;
      const perf::BandwidthResult result = run_bandwidth(config);
      ASSERT_EQ(result.failed, 0u);
      sum += static_cast<double>(result.elapsed.count()) * 1e-6;
    }
    EXPECT_NEAR(sum / runs / kIdealMs / published, 1, 0.05) << "loss " << loss;
  }
}

TEST(Stop, ends_a_run_with_what_is_complete) {
  std::atomic<bool> stop = true;
  perf::PerfConfig config;
  config.iterations = 100;
  config.path.one_way = std::chrono::milliseconds(1);
  config.stop = &stop;
  const perf::BandwidthResult none = run_bandwidth(config);
  EXPECT_TRUE(none.stopped);
  EXPECT_EQ(none.messages, 0u);
  EXPECT_EQ(none.average_bps, 0.0);
  const perf::LatencyResult no_latency = run_latency(config);
  EXPECT_TRUE(no_latency.stopped);
  EXPECT_EQ(no_latency.ns.count(), 0u);
  stop = false;
  const perf::BandwidthResult all = run_bandwidth(config);
  EXPECT_FALSE(all.stopped);
  EXPECT_EQ(all.messages, 100u);
  EXPECT_FALSE(run_latency(config).stopped);
}

}  // namespace theory_test
}  // namespace lw::sim
