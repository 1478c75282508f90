// SPDX-License-Identifier: BSD-3-Clause
#include "perf/batch_means.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/chance.h"

namespace lw::perf {
namespace {

/// Steps of 1 ms; each delivers 1000 bytes, but with probability `p` it begins a pause of `pause`
/// steps, in which nothing arrives.
std::vector<Delivered> paused(std::uint64_t seed, std::size_t steps, double p, int pause) {
  const Chance chance(seed, 1);
  std::vector<Delivered> samples = {{Instant{}, 0}};
  int left = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    if (left == 0 && chance.uniform(i) < p) left = pause;
    const std::uint64_t bytes = left > 0 ? 0 : 1000;
    if (left > 0) --left;
    samples.push_back(
        {samples.back().at + std::chrono::milliseconds(1), samples.back().bytes + bytes});
  }
  return samples;
}

TEST(BatchMeans, AConstantRateHasNoWidth) {
  const auto interval = rate_interval(paused(1, 100, 0, 0), {});
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->low, 8e6);
  EXPECT_DOUBLE_EQ(interval->high, 8e6);
  EXPECT_TRUE(interval->within(1e-9, 8e6));
  EXPECT_FALSE(rate_interval(paused(1, 31, 0, 0), {}));
}

/// A busy step begins a pause with probability p: cycles of 1/p steps, p x 8 of them paused.
TEST(BatchMeans, TheIntervalHoldsTheMeanInNineOfTenSeeds) {
  constexpr double kP = 0.05;
  constexpr int kPause = 8;
  const double truth = 8e6 * (1 - kP) / (1 - kP + kP * kPause);
  int held = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto interval = rate_interval(paused(seed, 2000, kP, kPause), {});
    held += interval->low <= truth && truth <= interval->high ? 1 : 0;
  }
  EXPECT_GE(held, 180);
}

/// Without a pause so far, up to 3.69 of them might have been.
TEST(BatchMeans, TimersThatDidNotExpireWidenTheInterval) {
  const auto samples = paused(1, 1000, 0, 0);
  const auto none = rate_interval(samples, {.count = 0, .each = std::chrono::milliseconds(100)});
  EXPECT_NEAR(none->low, 8e6 / 1.3688879, 1);
  EXPECT_DOUBLE_EQ(none->high, 8e6);
  const auto five = rate_interval(samples, {.count = 5, .each = std::chrono::milliseconds(10)});
  EXPECT_NEAR(five->low, 8e6 / (1 + 0.0667), 1e3);
  EXPECT_NEAR(five->high, 8e6 / (1 - 0.0338), 1e3);
  const auto many = rate_interval(samples, {.count = 10, .each = std::chrono::milliseconds(100)});
  EXPECT_DOUBLE_EQ(many->low, 8e6);
}

}  // namespace
}  // namespace lw::perf
