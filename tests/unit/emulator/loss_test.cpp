// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/stage_runs.h"

namespace lw::emulator {
namespace loss_test {

using test::kManyFrames;
using testing::ElementsAre;

std::vector<bool> lost(const LossConfig& loss, std::uint64_t count = kManyFrames,
                       std::uint64_t seed = 1, std::uint32_t bytes = 1024) {
  auto config = test::stage_rule();
  config.loss = loss;
  return test::dropped_by(test::rule_of(config, seed), count, bytes);
}

double share(const std::vector<bool>& bits) {
  return static_cast<double>(std::ranges::count(bits, true)) / static_cast<double>(bits.size());
}

std::vector<std::size_t> places(const std::vector<bool>& bits) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i]) found.push_back(i);
  return found;
}

/// Chi-square of run lengths 1, 2, ... `cells` (the last: and longer) against a geometric law with
/// this probability of ending at each step.
double chi_square_geometric(const std::vector<std::uint64_t>& runs, double ends,
                            std::size_t cells) {
  std::vector<double> seen(cells);
  for (const std::uint64_t run : runs) seen[std::min<std::uint64_t>(run, cells) - 1] += 1;
  double sum = 0;
  for (std::size_t i = 0; i < cells; ++i) {
    const double reach = std::pow(1 - ends, static_cast<double>(i));
    const double expected =
        static_cast<double>(runs.size()) * (i + 1 == cells ? reach : reach * ends);
    sum += (seen[i] - expected) * (seen[i] - expected) / expected;
  }
  return sum;
}

// The 99.99 % quantile of chi-square with 7 degrees of freedom.
constexpr double kChiSquare7 = 29.88;

/// With losses in the bad state only, a burst is a stay there: geometric with r. (Gilbert 1960)
TEST(GilbertElliott, BurstLengthsAreGeometric) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto frames = lost(GilbertElliott{.p = 0.02, .r = 0.3}, kManyFrames, seed);
    EXPECT_LT(chi_square_geometric(test::runs_of(frames), 0.3, 8), kChiSquare7) << seed;
  }
}

/// The stays in the good state, between bursts, are geometric with p.
TEST(GilbertElliott, GapLengthsAreGeometric) {
  auto arrived = lost(GilbertElliott{.p = 0.2, .r = 0.5});
  arrived.flip();
  EXPECT_LT(chi_square_geometric(test::runs_of(arrived), 0.2, 8), kChiSquare7);
}

/// p / (p + r) of the frames meet the bad state. The variance of a Markov chain's share is the
/// binomial's times (1 + c) / (1 - c) with c = 1 - p - r.
TEST(GilbertElliott, LosesItsShare) {
  const GilbertElliott m{.p = 0.01, .r = 0.2, .bad_loss = 0.6, .good_loss = 0.001};
  const double expected = 0.01 / 0.21 * 0.6 + 0.2 / 0.21 * 0.001;  // netem's man page
  EXPECT_DOUBLE_EQ(expected_loss(m, 0), expected);
  const double correlation = 1 - m.p - m.r;
  const double sigma = std::sqrt(expected * (1 - expected) * (1 + correlation) / (1 - correlation) /
                                 static_cast<double>(kManyFrames));
  EXPECT_NEAR(share(lost(m)), expected, 4.5 * sigma);
}

/// Worked out by hand from pi P = pi: pi3 = pi1 p13 / p31, pi2 = pi3 p32 / p23, pi4 = pi1 p14.
TEST(FourState, LosesItsShare) {
  const FourState m{.p13 = 0.02, .p31 = 0.25, .p32 = 0.1, .p23 = 0.4, .p14 = 0.01};
  // pi ~ (1, 0.02, 0.08, 0.01), so (0.08 + 0.01) / 1.11.
  EXPECT_NEAR(expected_loss(m, 0), 0.09 / 1.11, 1e-12);
  EXPECT_NEAR(share(lost(m)), 0.09 / 1.11, 0.004 * std::sqrt(1e6 / kManyFrames));
}

TEST(FourState, WithTwoStatesItIsGilberts) {
  const auto frames = lost(FourState{.p13 = 0.02, .p31 = 0.3});
  EXPECT_LT(chi_square_geometric(test::runs_of(frames), 0.3, 8), kChiSquare7);
}

TEST(FourState, LossesInAGapStandAlone) {
  for (const std::uint64_t run : test::runs_of(lost(FourState{.p13 = 0, .p31 = 1, .p14 = 0.3})))
    ASSERT_EQ(run, 1U);
}

TEST(Bursts, OfAFixedLengthAreThatLong) {
  // Two bursts may touch: then a run is a multiple.
  for (const std::uint64_t run : test::runs_of(lost(Bursts{0.001, 5, 5}))) ASSERT_EQ(run % 5, 0U);
}

TEST(Bursts, OfRandomLengthAreEachAsLikely) {
  const auto runs = test::runs_of(lost(Bursts{0.001, 3, 6}));
  std::array<double, 4> seen{};
  double all = 0;
  for (const std::uint64_t run : runs) {
    ASSERT_GE(run, 3U);
    if (run > 6) continue;  // two that touch
    seen[run - 3] += 1;
    all += 1;
  }
  double chi = 0;
  for (const double count : seen) chi += (count - all / 4) * (count - all / 4) / (all / 4);
  // 99.99 % for 3 degrees of freedom. Touching bursts, one in a thousand, shorten none.
  EXPECT_LT(chi, 21.11);
}

TEST(Bursts, LoseTheirShare) {
  const Bursts m{0.002, 2, 8};
  const double expected = 5 / (5 + 500 - 1.0);
  EXPECT_NEAR(expected_loss(m, 0), expected, 1e-12);
  EXPECT_NEAR(share(lost(m)), expected, 0.0012 * std::sqrt(1e6 / kManyFrames));
}

TEST(EveryNth, LosesTheLastOfEachN) {
  EXPECT_THAT(places(lost(EveryNth{4}, 13)), ElementsAre(3, 7, 11));
  EXPECT_EQ(share(lost(EveryNth{1}, 100)), 1);
}

TEST(BitPattern, RepeatsItself) {
  EXPECT_THAT(places(lost(BitPattern{{false, true, true, false, false}}, 12)),
              ElementsAre(1, 2, 6, 7, 11));
}

TEST(ListedFrames, AreLostAndNoOthers) {
  EXPECT_THAT(places(lost(ListedFrames{{0, 3, 17, 99'999}}, 100'000)),
              ElementsAre(0, 3, 17, 99'999));
}

/// 1 - (1 - ber)^bits, the FCS being on the line, too: 8 x 1004 bits at 10^-5 are 7.72 %.
TEST(BitErrors, FollowFromTheFramesLength) {
  EXPECT_NEAR(expected_loss(BitErrors{1e-5}, 1000), 0.0771794, 1e-7);
  EXPECT_NEAR(expected_loss(BitErrors{1e-12}, 1000), 8.032e-9, 1e-12);
  for (const std::uint32_t bytes : {60U, 1000U, 9600U}) {
    const double expected = expected_loss(BitErrors{1e-5}, bytes);
    const double sigma = std::sqrt(expected * (1 - expected) / static_cast<double>(kManyFrames));
    EXPECT_NEAR(share(lost(BitErrors{1e-5}, kManyFrames, 1, bytes)), expected, 4.5 * sigma);
  }
}

/// A stateful model goes on from where it was: it is asked once a frame, in order.
TEST(Loss, TheSameFramesMeetTheSameFate) {
  const GilbertElliott m{.p = 0.05, .r = 0.2, .bad_loss = 0.9, .good_loss = 0.01};
  EXPECT_EQ(lost(m, 10'000, 7), lost(m, 10'000, 7));
  EXPECT_NE(lost(m, 10'000, 7), lost(m, 10'000, 8));
}

/// 10^-9 as a threshold on 64 bits: exact to the last.
TEST(Loss, ResolvesABillionth) {
  const Threshold billionth(1e-9);
  const auto below = static_cast<std::uint64_t>(1e-9 * 0x1.0p64);
  EXPECT_TRUE(billionth.hit(below - 1));
  EXPECT_FALSE(billionth.hit(below));
  EXPECT_TRUE(loses(1e-9));
  EXPECT_FALSE(loses(0.0));
}

TEST(Loss, IsCountedWithItsRuns) {
  auto config = test::stage_rule();
  config.loss = BitPattern{{true, true, false, true, false, false}};
  Rule rule = test::rule_of(config);
  for (std::uint64_t i = 0; i < 12; ++i) (void)rule.decide(test::bare_arrival(i));
  EXPECT_EQ(rule.stats().loss.frames, 12U);
  EXPECT_EQ(rule.stats().loss.lost, 6U);
  EXPECT_EQ(rule.stats().loss.runs[0], 2U);
  EXPECT_EQ(rule.stats().loss.runs[1], 2U);
}

}  // namespace loss_test
}  // namespace lw::emulator
