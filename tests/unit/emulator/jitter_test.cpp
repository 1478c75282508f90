// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "support/stage_runs.h"

namespace lw::emulator {
namespace jitter_test {

using test::kManyFrames;

/// A share within its own confidence bounds: 4.5 standard deviations.
void expect_share(double seen, double expected, const std::string& what) {
  const double sigma = std::sqrt(expected * (1 - expected) / static_cast<double>(kManyFrames));
  EXPECT_NEAR(seen, expected, 4.5 * sigma) << what;
}

std::vector<double> drawn(const JitterConfig& config) {
  Jitter jitter(config, Chance(1, 2));
  std::vector<double> delays;
  delays.reserve(kManyFrames);
  for (std::uint64_t i = 0; i < kManyFrames; ++i) delays.push_back(jitter(i, 0, {}));
  return delays;
}

/// Kolmogorov and Smirnov: the largest distance between seen and asked distribution, times the
/// root of n, exceeds 2.23 once in 10^4. Bins with steps are held to their counts elsewhere.
void expect_distribution(const Distribution& asked) {
  auto delays = drawn({asked, {}});
  std::ranges::sort(delays);
  const auto n = static_cast<double>(delays.size());
  double distance = 0;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    const double share = cumulative(asked, delays[i]);
    distance = std::max({distance, std::abs(share - static_cast<double>(i) / n),
                         std::abs(share - static_cast<double>(i + 1) / n)});
  }
  EXPECT_LT(distance * std::sqrt(n), 2.23) << describe(asked);
}

/// Mean and deviation as the closed formulas say. `kurtosis`: the distribution's, for the bound on
/// the deviation.
void expect_moments(const Distribution& asked, double mean, double deviation, double kurtosis) {
  DrawStats seen;
  for (const double delay : drawn({asked, {}})) seen.add(delay);
  const auto n = static_cast<double>(seen.count);
  EXPECT_NEAR(mean_of(asked), mean, 1e-9 * mean) << describe(asked);
  EXPECT_NEAR(deviation_of(asked), deviation, 1e-9 * deviation) << describe(asked);
  EXPECT_NEAR(seen.mean(), mean, 4.5 * deviation / std::sqrt(n)) << describe(asked);
  EXPECT_NEAR(std::sqrt(seen.squares() / n), deviation,
              4.5 * deviation * std::sqrt((kurtosis - 1) / (4 * n)))
      << describe(asked);
}

TEST(Distribution, MomentsAreThoseOfTheFormulas) {
  expect_moments(UniformDelay{1000, 4000}, 2500, 3000 / std::sqrt(12.0), 1.8);
  expect_moments(NormalDelay{1e6, 1e4}, 1e6, 1e4, 3);
  expect_moments(ExponentialDelay{5000}, 5000, 5000, 9);
  expect_moments(GammaDelay{4, 1000}, 4000, 2000, 3 + 6.0 / 4);
  expect_moments(GammaDelay{0.5, 1000}, 500, std::sqrt(0.5) * 1000, 3 + 6.0 / 0.5);
  // Shape 10: mean 10/9, variance 10 / (81 x 8), excess kurtosis 6 x (1110 - 60 - 2) / 420.
  expect_moments(ParetoDelay{10, 9000}, 10'000, 9000 * std::sqrt(10.0 / 648),
                 3 + 6.0 * (1000 + 100 - 60 - 2) / (10.0 * 7 * 6));
  const double s2 = 0.25;  // sigma 0.5
  expect_moments(LogNormalDelay{1000, 0.5}, 1000 * std::exp(s2 / 2),
                 1000 * std::exp(s2 / 2) * std::sqrt(std::expm1(s2)),
                 std::exp(4 * s2) + 2 * std::exp(3 * s2) + 3 * std::exp(2 * s2) - 3);
}

TEST(Distribution, IsTheOneAskedFor) {
  expect_distribution(UniformDelay{1000, 4000});
  expect_distribution(NormalDelay{1e6, 1e4});
  expect_distribution(ExponentialDelay{5000});
  expect_distribution(GammaDelay{4, 1000});
  expect_distribution(GammaDelay{0.5, 1000});
  expect_distribution(GammaDelay{100, 10});
  expect_distribution(ParetoDelay{1.5, 9000});
  expect_distribution(LogNormalDelay{1000, 0.5});
}

/// Quantiles from published tables: normal 99.9 % is 3.0902 and 10^-9 is -5.9978; chi-square (a
/// gamma of half its degrees and scale 2) 5 of 95 % is 11.0705, 1 of 99.9 % 10.828, 100 of 1 %
/// 70.065.
TEST(Distribution, QuantilesAreTheTabulatedOnes) {
  EXPECT_NEAR(normal_quantile(0.999, 0.001), 3.0902, 5e-5);
  EXPECT_NEAR(normal_quantile(1e-9, 1), -5.9978, 5e-5);
  EXPECT_NEAR(quantile(GammaDelay{2.5, 2}, 0.95, 0.05), 11.0705, 5e-5);
  EXPECT_NEAR(quantile(GammaDelay{0.5, 2}, 0.999, 0.001), 10.828, 5e-4);
  EXPECT_NEAR(quantile(GammaDelay{50, 2}, 0.01, 0.99), 70.065, 5e-4);
  EXPECT_NEAR(quantile(ExponentialDelay{1}, 0.5, 0.5), std::log(2), 1e-12);
  EXPECT_NEAR(quantile(ParetoDelay{2, 3}, 0.75, 0.25), 6, 1e-12);
}

/// The table's tails reach as far as the draws do, and never backwards.
TEST(Sampler, FollowsTheQuantileIntoBothTails) {
  const Distribution exponential = ExponentialDelay{1};
  const Sampler sample(exponential);
  EXPECT_NEAR(sample(std::uint64_t{1} << 63), std::log(2), 1e-5);
  // 2^-30 from either end.
  EXPECT_NEAR(sample(std::uint64_t{1} << 34), 0x1.0p-30, 0x1.0p-40);
  EXPECT_NEAR(sample(~(std::uint64_t{1} << 34)), 30 * std::log(2), 1e-3);
  double last = -1;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const double delay = sample(i * (UINT64_MAX / 100'000));
    ASSERT_GE(delay, last);
    last = delay;
  }
}

TEST(Sampler, BinsAreHitByTheirWeightsAndNothingBetweenThem) {
  const BinnedDelay bins{{{0, 100, 1}, {1000, 1000, 2}, {5000, 6000, 7}}};
  std::array<double, 3> seen{};
  for (const double delay : drawn({bins, {}})) {
    const std::size_t bin = delay <= 100 ? 0U : delay == 1000 ? 1U : 2U;
    ASSERT_TRUE(bin < 2 || (delay >= 5000 && delay <= 6000));
    seen[bin] += 1.0 / static_cast<double>(kManyFrames);
  }
  expect_share(seen[0], 0.1, "first");
  expect_share(seen[1], 0.2, "second");
  expect_share(seen[2], 0.7, "third");
  EXPECT_DOUBLE_EQ(mean_of(bins), (50 + 2 * 1000 + 7 * 5500) / 10.0);
}

/// A score's correlation with itself a half-life later is a half, two half-lives later a quarter;
/// its values at any one time are standard normal. Over n half-lives a correlation is known to
/// about the root of 3 / n.
TEST(ScoreProcess, HalvesItsCorrelationInAHalfLife) {
  constexpr std::int64_t kHalfLife = 1000;
  ScoreProcess process(Duration{kHalfLife}, Chance(3, 4));
  std::vector<double> scores;
  for (std::uint64_t i = 0; i < kManyFrames; ++i)
    scores.push_back(process.at(instant_from_ns(static_cast<std::int64_t>(i) * kHalfLife / 5)));
  DrawStats seen;
  for (const double score : scores) seen.add(score);
  const auto n = static_cast<double>(scores.size());
  const double bound = 4.5 * std::sqrt(3 / (n / 5));
  EXPECT_NEAR(seen.mean(), 0, bound);
  EXPECT_NEAR(seen.squares() / n, 1, bound);
  const auto correlation = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t i = lag; i < scores.size(); ++i) sum += scores[i] * scores[i - lag];
    return sum / (n - static_cast<double>(lag));
  };
  EXPECT_NEAR(correlation(5), 0.5, bound);
  EXPECT_NEAR(correlation(10), 0.25, bound);
  EXPECT_NEAR(correlation(60), 0, bound);
}

TEST(ScoreProcess, IsAFunctionOfTimeHoweverItIsAsked) {
  ScoreProcess often(Duration{100'000}, Chance(3, 4));
  for (std::int64_t t = -1000; t < 2'000'000; t += 777) (void)often.at(instant_from_ns(t));
  ScoreProcess seldom(Duration{100'000}, Chance(3, 4));
  EXPECT_NEAR(often.at(instant_from_ns(2'000'123)), seldom.at(instant_from_ns(2'000'123)), 1e-9);
}

/// A delay that wanders slowly enough keeps frames in order by itself: none is moved, so its
/// distribution is the one asked for, here at instants far apart.
TEST(CorrelatedJitter, KeepsOrderWithoutBias) {
  auto config = test::stage_rule();
  config.delay = Duration{1'000'000};
  config.jitter = JitterConfig{NormalDelay{0, 10'000}, Duration{1'000'000}};
  Rule rule = test::rule_of(config);
  for (std::uint64_t i = 0; i < kManyFrames; ++i)
    (void)rule.decide(test::bare_arrival(i, instant_from_ns(static_cast<std::int64_t>(i) * 5000)));
  EXPECT_EQ(rule.stats().moved_for_order, 0U);
  const auto half_lives = static_cast<double>(kManyFrames) * 5000 / 1e6;
  const double bound = 4.5 * std::sqrt(3 / half_lives);
  EXPECT_NEAR(rule.stats().jitter.mean(), 0, 10'000 * bound);
  EXPECT_NEAR(std::sqrt(rule.stats().jitter.squares() / static_cast<double>(kManyFrames)), 10'000,
              10'000 * bound);
}

TEST(IndependentJitter, KeepsOrderByMovingReleasesAndSaysSo) {
  auto config = test::stage_rule();
  config.delay = Duration{100'000};
  config.jitter = JitterConfig{UniformDelay{0, 50'000}, {}};
  Rule rule = test::rule_of(config);
  Instant last;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const Instant now = instant_from_ns(static_cast<std::int64_t>(i) * 1000);
    const Decision decision = rule.decide(test::bare_arrival(i, now));
    ASSERT_EQ(decision.action, Action::queue);
    ASSERT_GE(decision.release, last);
    ASSERT_GE(decision.release, now + Duration{100'000});
    ASSERT_LE(decision.release, now + Duration{150'000});
    ASSERT_TRUE(decision.acted.has(Stage::delay));
    last = decision.release;
  }
  EXPECT_GT(rule.stats().moved_for_order, 0U);
  EXPECT_GT(rule.stats().moved_ns, 0U);
}

TEST(Jitter, BelowZeroDoesNotMakeAFrameLeaveBeforeItCame) {
  auto config = test::stage_rule();
  config.jitter = JitterConfig{NormalDelay{0, 1000}, {}};
  config.keep_order = false;
  Rule rule = test::rule_of(config);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Instant now = instant_from_ns(static_cast<std::int64_t>(i) * 10);
    ASSERT_GE(rule.decide(test::bare_arrival(i, now)).release, now);
  }
}

}  // namespace jitter_test
}  // namespace lw::emulator
