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

Efficiency go_back_n(double loss, Duration duration) {
  constexpr int kSeeds = 12;
  PerfConfig config;
  config.size = kMtu;
  config.qp.tx_depth = config.qp.max_outstanding_wqe = 16384;
  config.qp.timeout = 10;
  config.path.one_way = Duration{200'000};
  config.path.mishaps.loss = loss;
  config.duration = duration;
  double sum = 0, squares = 0;
  Efficiency efficiency;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    config.path.mishaps.seed = static_cast<std::uint64_t>(seed);
    const BandwidthResult result = run_bandwidth(config);
    EXPECT_EQ(result.failed, 0u);
    const double share = result.efficiency();
    sum += share;
    squares += share * share;
    efficiency.timeouts += result.timeouts;
  }
  efficiency.mean = sum / kSeeds;
  const double variance = squares / kSeeds - efficiency.mean * efficiency.mean;
  efficiency.standard_error = std::sqrt(std::max(variance, 0.0) / (kSeeds - 1));
  const double serial = (kMtu + 82 + 16) * 8 / kLine;  // WRITE ONLY, with its RETH
  const double w = (402e-6 + 86 * 8 / kLine) / serial + 1;
  efficiency.law = (1 - loss) / (1 - loss + loss * w);
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

}  // namespace
}  // namespace lw::sim
