// SPDX-License-Identifier: BSD-3-Clause
// Endpoints joined through lib/path's own rules: a slower link, RED, losses and events, held
// against what they must come to.
#include <cmath>

#include <gtest/gtest.h>

#include "sim/incast.h"

namespace lw::sim {
namespace rules_test {

using emulator::Direction;
using emulator::RuleConfig;

constexpr Duration kOneWay = std::chrono::microseconds(100);

/// A rule for each direction, both with the delay.
std::shared_ptr<perf::PathRules> delays() {
  auto rules = std::make_shared<perf::PathRules>();
  for (const bool there : {true, false}) {
    RuleConfig rule;
    rule.name = there ? "there" : "back";
    rule.west_to_east = there;
    rule.east_to_west = !there;
    rule.delay = kOneWay;
    rules->rules.push_back(rule);
  }
  return rules;
}

perf::PerfConfig over(std::shared_ptr<perf::PathRules> rules) {
  perf::PerfConfig config;
  config.size = 65536;
  config.qp.timeout = 12;
  config.path.one_way = kOneWay;
  config.path.rules = std::move(rules);
  return config;
}

TEST(Rules, ADelayIsTheSameAsALinesOwn) {
  perf::PerfConfig bare = over(nullptr);
  bare.iterations = 500;
  perf::PerfConfig ruled = over(delays());
  ruled.iterations = 500;
  EXPECT_EQ(run_bandwidth(bare).elapsed, run_bandwidth(ruled).elapsed);
}

TEST(Rules, ASlowerLinkIsWhatGoesThrough) {
  auto rules = delays();
  rules->rules[0].queue = emulator::QueueConfig{.rate_bps = 10e9, .buffer_bytes = 16'000'000};
  perf::PerfConfig config = over(rules);
  const perf::BandwidthResult result = run_bandwidth(config);
  // 4096 B of payload take 4178 of line, and once a message 16 of RETH.
  const double goodput = 10e9 * 65536 / (16 * 4178 + 16);
  EXPECT_NEAR(result.steady_bps / goodput, 1, 0.005);
  EXPECT_EQ(result.there.tail_dropped, 0U);
}

TEST(Rules, AFullBufferDrops) {
  auto rules = delays();
  rules->rules[0].queue = emulator::QueueConfig{.rate_bps = 10e9, .buffer_bytes = 100'000};
  perf::PerfConfig config = over(rules);
  config.duration = std::chrono::milliseconds(20);
  const perf::BandwidthResult result = run_bandwidth(config);
  EXPECT_GT(result.there.tail_dropped, 0U);
  EXPECT_GT(result.retransmitted, 0U);
}

TEST(Rules, LossesAreAsMany) {
  auto rules = delays();
  rules->rules[0].loss = 1e-2;
  perf::PerfConfig config = over(rules);
  config.iterations = 2000;
  const perf::BandwidthResult result = run_bandwidth(config);
  const auto sent = static_cast<double>(result.there.entered);
  EXPECT_NEAR(static_cast<double>(result.there.lost) / sent, 1e-2, 3 * std::sqrt(1e-2 / sent));
  EXPECT_EQ(result.failed, 0U);
}

TEST(Rules, AnEventHitsItsPacket) {
  auto rules = delays();
  emulator::EventConfig event;
  event.name = "fifth";
  event.ways = emulator::Ways::west_to_east;
  event.qp = 1;
  event.psn_from = emulator::PsnFrom::start;
  event.psn = 4;
  rules->events.push_back(event);
  perf::PerfConfig config = over(rules);
  config.iterations = 20;
  const perf::BandwidthResult result = run_bandwidth(config);
  EXPECT_EQ(result.there.lost, 1U);
  EXPECT_GT(result.retransmitted, 0U);
}

TEST(Rules, MarksBringNotifications) {
  auto rules = delays();
  rules->rules[0].queue = emulator::QueueConfig{.rate_bps = 10e9, .buffer_bytes = 16'000'000};
  rules->rules[0].mark = emulator::MarkConfig{.red = emulator::Red{50'000, 200'000, 0.1}};
  perf::PerfConfig config = over(rules);
  config.qp.rate_control = transport::RateControl::dcqcn;
  config.duration = std::chrono::milliseconds(20);
  const perf::BandwidthResult result = run_bandwidth(config);
  EXPECT_GT(result.there.marked, 0U);
  EXPECT_GT(result.cnps, 0U);
  EXPECT_LE(result.cnps, result.there.marked);
  EXPECT_EQ(result.there.tail_dropped, 0U);
}

IncastConfig incast(std::uint32_t senders, std::uint32_t qps) {
  auto rules = delays();
  rules->rules[0].queue = emulator::QueueConfig{.rate_bps = 100e9, .buffer_bytes = 64'000'000};
  rules->rules[0].mark = emulator::MarkConfig{.red = emulator::Red{400'000, 1'600'000, 0.01}};
  IncastConfig config{.senders = senders, .perf = over(rules)};
  config.perf.qps = qps;
  config.perf.size = 16384;
  config.perf.qp.tx_depth = 64;
  config.perf.qp.timeout = 16;
  config.perf.qp.rate_control = transport::RateControl::dcqcn;
  config.perf.duration = std::chrono::milliseconds(20);
  return config;
}

TEST(Incast, TheBottleneckIsSharedAndNotOverrun) {
  const IncastResult result = run_incast(incast(8, 1));
  EXPECT_EQ(result.failed, 0U);
  EXPECT_LE(result.total_bps(), 98.04e9);
  EXPECT_GT(result.total_bps(), 10e9);
  EXPECT_GT(result.fairness(), 0.7);
  EXPECT_GT(result.cnps, 0U);
  EXPECT_EQ(result.samples.size(), 20U * 8);
}

/// DCQCN's flows end up with the same, where a cut lowers the target too; the path is short.
TEST(Incast, FlowsConverge) {
  for (const std::uint32_t senders : {2U, 4U}) {
    IncastConfig config = incast(senders, 1);
    config.perf.qp.dcqcn.clamp_tgt_rate = true;
    config.perf.duration = std::chrono::milliseconds(100);
    for (const std::uint64_t seed : {1, 2, 3}) {
      config.perf.path.seed = seed;
      EXPECT_GT(run_incast(config).fairness(), 0.9) << senders << " senders, seed " << seed;
    }
  }
}

/// A NIC's clock and an instant of its own make a sender: without, two are one, and of two packets
/// that meet at a full queue the same one gets in each time.
TEST(Incast, SendersAreNotInLockstep) {
  IncastConfig config = incast(2, 1);
  config.perf.qp.rate_control = transport::RateControl::none;
  config.perf.path.rules = [] {
    auto rules = delays();
    rules->rules[0].queue = emulator::QueueConfig{.rate_bps = 100e9, .buffer_bytes = 1'000'000};
    return rules;
  }();
  const auto of_seed = [&config](std::uint64_t seed) {
    config.perf.path.seed = seed;
    return run_incast(config).flow_bps;
  };
  EXPECT_NE(of_seed(1), of_seed(2));
  EXPECT_EQ(of_seed(1), of_seed(1));
  config.start_within = Duration{};
  config.clock_ppm = 0;
  EXPECT_EQ(of_seed(1), of_seed(2));
}

TEST(Incast, AThousandQpsRun) {
  IncastConfig config = incast(10, 100);
  config.perf.qp.tx_depth = 2;
  config.perf.duration = std::chrono::milliseconds(10);
  const IncastResult result = run_incast(config);
  EXPECT_EQ(result.flow_bps.size(), 1000U);
  EXPECT_EQ(result.failed, 0U);
  EXPECT_GT(result.total_bps(), 10e9);
}

}  // namespace rules_test
}  // namespace lw::sim
