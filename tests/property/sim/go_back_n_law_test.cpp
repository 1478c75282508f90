// SPDX-License-Identifier: BSD-3-Clause
// Go-back-N under random losses beside the closed formula that textbooks give, which no part of
// the engine contains: over seeds, held to the runs' own spread.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "sim/perf.h"

namespace lw::sim {
namespace {

constexpr double kLine = 100e9;
constexpr std::uint32_t kMtu = 4096;

/// What share of the packets sent over 40 km was new, over as many seeds.
struct Efficiency {
  double mean = 0, standard_error = 0, law = 0;
  std::uint64_t timeouts = 0;
};

constexpr double kSerialNs = (kMtu + 82 + 16) * 8 / kLine * 1e9;  // WRITE ONLY, with its RETH
constexpr double kRoundTripPackets = (402'000 + 86 * 8 / kLine * 1e9) / kSerialNs + 1;  // W

perf::PerfConfig over_40_km(std::uint8_t timeout) {
  perf::PerfConfig config;
  config.size = kMtu;
  config.qp.tx_depth = config.qp.max_outstanding_wqe = 65536;
  config.qp.timeout = timeout;
  config.path.one_way = Duration{200'000};
  return config;
}

/// How many packets the timer takes.
double timer_packets(std::uint8_t timeout) {
  return static_cast<double>(transport::transport_timeout(timeout).count()) / kSerialNs;
}

double law_of(double loss) { return (1 - loss) / (1 - loss + loss * kRoundTripPackets); }

Efficiency go_back_n(double loss, Duration duration) {
  constexpr int kSeeds = 12;
  perf::PerfConfig config = over_40_km(10);
  config.path.loss = loss;
  config.duration = duration;
  double sum = 0, squares = 0;
  Efficiency efficiency;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    config.path.seed = static_cast<std::uint64_t>(seed);
    const perf::BandwidthResult result = run_bandwidth(config);
    EXPECT_EQ(result.failed, 0u);
    const double share = result.efficiency();
    sum += share;
    squares += share * share;
    efficiency.timeouts += result.timeouts;
  }
  efficiency.mean = sum / kSeeds;
  const double variance = squares / kSeeds - efficiency.mean * efficiency.mean;
  efficiency.standard_error = std::sqrt(std::max(variance, 0.0) / (kSeeds - 1));
  efficiency.law = law_of(loss);
  return efficiency;
}

/// A packet that is lost costs itself and the W packets that are sent before its NAK is back, so
/// (1 - p) / (1 - p + p W) of what is sent is new. W is 1203 here.
TEST(GoBackN, efficiency_follows_its_law_while_losses_are_rare) {
  for (const double loss : {2.5e-5, 8e-5, 2.5e-4}) {  // p W: 0.03, 0.1, 0.3
    const Efficiency found = go_back_n(loss, std::chrono::milliseconds(50));
    EXPECT_NEAR(found.mean, found.law, 3 * found.standard_error) << "loss " << loss;
    EXPECT_LT(found.standard_error, 0.02);
  }
}

/// Where losses meet, a retransmission is lost too. One NAK is sent a gap, so only the timer tells,
/// and until it does everything that is sent is in vain: more than the law says.
TEST(GoBackN, costs_more_than_its_law_where_retransmissions_are_lost) {
  const Efficiency found = go_back_n(1e-2, std::chrono::milliseconds(300));  // p W: 12
  EXPECT_LT(found.mean, found.law);
  EXPECT_GT(found.mean, found.law / 2);
  EXPECT_GT(found.timeouts, 0u);
}

/// Packets sent beyond those of a run without losses, when one packet is lost `times_lost` times.
std::uint64_t extra_packets(std::uint8_t timeout, std::uint32_t times_lost) {
  perf::PerfConfig config = over_40_km(timeout);
  config.iterations = 60'000;
  auto rules = std::make_shared<perf::PathRules>();
  emulator::RuleConfig rule;
  rule.name = "delay";
  rule.delay = config.path.one_way;
  rules->rules.push_back(rule);
  for (std::uint32_t nth = 1; nth <= times_lost; ++nth) {
    emulator::EventConfig event;
    event.name = "loss " + std::to_string(nth);
    event.ways = emulator::Ways::west_to_east;
    event.qpn = Host::qpn_of(0);
    event.psn_from = emulator::PsnFrom::absolute;
    event.psn = 1000;
    event.occurrence = nth;
    rules->events.push_back(event);
  }
  config.path.rules = std::move(rules);
  return run_bandwidth(config).packets - config.iterations;
}

/// Where the excess over the law comes from: a packet that is lost costs W whatever the timer is;
/// if its retransmission is lost too, all that is sent until the timer expires comes on top.
TEST(GoBackN, a_lost_retransmission_waits_for_the_timer) {
  for (std::uint8_t timeout = 8; timeout <= 11; ++timeout) {
    const auto once = static_cast<double>(extra_packets(timeout, 1));
    EXPECT_NEAR(once, kRoundTripPackets, 2) << "timeout " << int{timeout};
    const auto twice = static_cast<double>(extra_packets(timeout, 2));
    EXPECT_NEAR(twice - once, timer_packets(timeout), 2) << "timeout " << int{timeout};
  }
}

/// The same of chance: of what is sent beyond the law, each expiry of the timer accounts for the
/// packets of its time. A retransmission's own loss has been counted by the law with W; a NAK's,
/// which is as likely and waits as long, has not: half of W less on average.
TEST(GoBackN, the_timer_is_the_excess_over_its_law) {
  constexpr double kLoss = 1e-2;  // p W: 12
  constexpr int kSeeds = 10;
  for (std::uint8_t timeout = 9; timeout <= 11; ++timeout) {
    double sum = 0, squares = 0;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      perf::PerfConfig config = over_40_km(timeout);
      config.path.loss = kLoss;
      config.path.seed = static_cast<std::uint64_t>(seed);
      config.duration = std::chrono::milliseconds(1000);
      const perf::BandwidthResult result = run_bandwidth(config);
      const auto known = static_cast<double>(result.packets - result.outstanding);
      const double excess = known - known * result.efficiency() / law_of(kLoss);
      const double each = excess / static_cast<double>(result.timeouts);
      sum += each;
      squares += each * each;
    }
    const double mean = sum / kSeeds;
    const double error = std::sqrt(std::max(squares / kSeeds - mean * mean, 0.0) / (kSeeds - 1));
    const double expected = timer_packets(timeout) - kRoundTripPackets / 2;
    EXPECT_NEAR(mean, expected, 4 * error) << "timeout " << int{timeout};
    EXPECT_LT(error, 0.1 * expected);
  }
}

}  // namespace
}  // namespace lw::sim
