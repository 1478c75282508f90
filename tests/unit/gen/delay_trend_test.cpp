// SPDX-License-Identifier: BSD-3-Clause
// Growth of latency within a trial: found where a buffer fills, and in at most one of a hundred
// trials of a machine that only delays frames at random.
#include "gen/search/delay_trend.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/chance.h"

namespace lw::gen {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kTrial = std::chrono::seconds(1);

/// Latency of the frame that is sent `at` after the start.
template <class Latency>
std::vector<PartDelay> parts_of(std::size_t parts, int frames, Latency latency) {
  std::vector<PartDelay> delays(parts);
  for (int i = 0; i < frames; ++i) {
    auto& least =
        delays[static_cast<std::size_t>(i) * parts / static_cast<std::size_t>(frames)].least;
    const Duration now = latency(i, kTrial * i / frames);
    least = std::min(least.value_or(now), now);
  }
  return delays;
}

template <class Latency>
DelayTrend trend_of(int frames, Latency latency) {
  return DelayTrend(parts_of(frames < 1000 ? 10 : 100, frames, latency));
}

/// Delays of an operating system: mostly some us, sometimes ms.
Duration heavy_tail(double uniform) {
  const double us = std::min(5 / std::pow(1 - uniform, 1.2), 1e6);
  return Duration(static_cast<std::int64_t>(1000 * us));
}

TEST(DelayTrend, AFillingBufferIsFoundThroughNoise) {
  const Chance chance(7, 1);
  const auto trend = trend_of(2000, [&](int i, Duration at) {
    return Duration(at.count() / 100) + heavy_tail(chance.uniform(static_cast<std::uint64_t>(i)));
  });
  EXPECT_TRUE(trend.grows());
  EXPECT_NEAR(static_cast<double>(trend.growth()->count()), 0.9e7, 0.1e7);  // 1 % of 0.9 s
}

TEST(DelayTrend, NoiseAloneIsRefusedInAtMostOneOfAHundredTrials) {
  const Chance chance(11, 2);
  constexpr int kTrials = 3000;
  for (const int frames : {10, 40, 1000}) {  // one frame a tenth: nothing is averaged
    int refused = 0;
    for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
      const auto trend = trend_of(frames, [&](int i, Duration) {
        return heavy_tail(chance.uniform(trial * 1000 + static_cast<std::uint64_t>(i)));
      });
      refused += trend.grows() ? 1 : 0;
    }
    EXPECT_LE(refused, kTrials / 100) << frames << " frames";
  }
}

TEST(DelayTrend, AStepAndAStallAreNoGrowth) {
  const auto step = trend_of(1000, [](int, Duration at) {
    return at < kTrial / 2 ? microseconds(10) : microseconds(900);
  });
  EXPECT_FALSE(step.grows());
  const auto stall =
      trend_of(1000, [](int i, Duration) { return milliseconds(i / 100 == 9 ? 50 : 1); });
  EXPECT_FALSE(stall.grows());
}

/// Parts 15 to 17, 35 to 37, ... are disturbed. Behind each the latency is higher by 4 ms, as at a
/// rate below the path's: the queue holds what came as a burst, and shrinks slowly.
TEST(DelayTrend, BurstsOfThisMachineAreNoGrowth) {
  const auto trend = [](milliseconds burst, double above) {
    std::vector<PartDelay> parts;
    for (int i = 0; i < 100; ++i)
      parts.push_back(
          {.least = burst * ((i + 5) / 20) + Duration(static_cast<std::int64_t>(i * above * 1e7)),
           .disturbed = i % 20 >= 15 && i % 20 < 18});
    return DelayTrend(parts);
  };
  EXPECT_FALSE(trend(milliseconds(4), 0).grows());
  EXPECT_FALSE(trend(milliseconds(4), -0.004).grows());
  const DelayTrend grown = trend(milliseconds(4), 0.01);
  EXPECT_TRUE(grown.grows());
  EXPECT_NEAR(static_cast<double>(grown.growth()->count()), 0.9e7, 0.1e7);  // 1 % of 0.9 s
}

TEST(DelayTrend, NothingIsKnownIfHalfIsDisturbed) {
  for (const int disturbed : {49, 50}) {
    std::vector<PartDelay> parts(100, {.least = Duration{}});
    for (int i = 0; i < disturbed; ++i) parts[static_cast<std::size_t>(2 * i)].disturbed = true;
    EXPECT_EQ(DelayTrend(parts).growth().has_value(), disturbed < 50);
  }
}

TEST(DelayTrend, NoiseIsTheLargestDistanceFromTheLine) {
  for (const std::int64_t growth : {-9, 0, 9}) {
    const auto trend = trend_of(10, [&](int i, Duration) {
      return microseconds(100 + i * growth + (i == 4 ? 7 : i == 6 ? -3 : 0));
    });
    EXPECT_EQ(trend.growth(), microseconds(9 * growth));
    EXPECT_EQ(trend.noise(), microseconds(7)) << growth;
  }
}

TEST(DelayTrend, TooFewFramesTellNothing) {
  EXPECT_FALSE(DelayTrend(std::vector<PartDelay>(10)).growth());
  const auto trend = trend_of(9, [](int i, Duration) { return milliseconds(i); });
  EXPECT_FALSE(trend.growth());
  EXPECT_FALSE(trend.grows());
}

}  // namespace
}  // namespace lw::gen
