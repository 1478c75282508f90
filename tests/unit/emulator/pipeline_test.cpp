// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/pipeline.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace lw::emulator {
namespace pipeline_test {

constexpr std::uint64_t kSeed = 42;
const wire::Bth kBth{};

/// A frame of which only the BTH matters, or that it has none.
Decision decide(Pipeline& pipeline, const wire::Bth* bth, std::uint64_t number, Instant now = {}) {
  static const roce::Envelope kEnvelope;
  return pipeline.decide({kEnvelope, bth, number, 100, now});
}

RuleConfig lossy(std::string name, double loss) {
  RuleConfig rule;
  rule.name = std::move(name);
  rule.loss = loss;
  return rule;
}

/// Which of the first `count` frames a pipeline drops.
std::vector<bool> drops(Pipeline pipeline, std::size_t count) {
  std::vector<bool> dropped(count);
  for (std::size_t i = 0; i < count; ++i)
    dropped[i] = decide(pipeline, &kBth, i).action == Action::drop;
  return dropped;
}

std::vector<bool> drops(std::uint64_t seed, const RuleConfig& rule,
                        Direction direction = Direction::west_to_east,
                        std::size_t count = 100'000) {
  return drops(Pipeline(direction, seed, std::span(&rule, 1)), count);
}

/// Independent loss of n frames is binomial: within 4.5 standard deviations of np (less than one
/// in 10^5 runs outside), for several seeds.
TEST(Loss, HitsItsRateWithinItsOwnConfidenceBounds) {
  constexpr double kFrames = 1'000'000;
  for (const double probability : {1e-4, 1e-3, 0.1, 0.5})
    for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
      const auto lost = drops(seed, lossy("r", probability), Direction::west_to_east, 1'000'000);
      const auto count = static_cast<double>(std::ranges::count(lost, true));
      const double sigma = std::sqrt(kFrames * probability * (1 - probability));
      EXPECT_NEAR(count, kFrames * probability, 4.5 * sigma) << probability << " seed " << seed;
    }
}

/// With independent losses, pairs of neighbours are lost as often as p^2 says.
TEST(Loss, IsIndependentFromFrameToFrame) {
  constexpr std::size_t kFrames = 1'000'000;
  constexpr double kProbability = 0.1;
  const auto lost = drops(kSeed, lossy("r", kProbability), Direction::west_to_east, kFrames);
  double pairs = 0;
  for (std::size_t i = 1; i < kFrames; ++i) pairs += lost[i] && lost[i - 1] ? 1 : 0;
  const double expected = kFrames * kProbability * kProbability;
  EXPECT_NEAR(pairs, expected, 5 * std::sqrt(expected));
}

TEST(Loss, NoneAndAllAreExact) {
  EXPECT_EQ(std::ranges::count(drops(kSeed, lossy("r", 0)), true), 0);
  EXPECT_EQ(std::ranges::count(drops(kSeed, lossy("r", 1)), true), 100'000);
}

TEST(Loss, TheSameSeedDropsTheSameFrames) {
  const auto rule = lossy("r", 0.01);
  EXPECT_EQ(drops(1, rule), drops(1, rule));
  EXPECT_NE(drops(1, rule), drops(2, rule));
}

TEST(Loss, DirectionsAndRulesDrawApart) {
  EXPECT_NE(drops(1, lossy("r", 0.01)), drops(1, lossy("r", 0.01), Direction::east_to_west));
  EXPECT_NE(drops(1, lossy("r", 0.01)), drops(1, lossy("s", 0.01)));
}

/// The frames that a rule drops follow from its name and the ingress number alone.
TEST(Pipeline, ChangingOneRuleLeavesAnothersDrawsAlone) {
  auto last = lossy("last", 0.01);
  last.match = MatchedFrames::everything;
  const auto alone = drops(kSeed, last);
  const std::vector<RuleConfig> before = {lossy("first", 0.5), last};
  Pipeline pipeline(Direction::west_to_east, kSeed, before);
  for (std::size_t i = 0; i < alone.size(); ++i)
    ASSERT_EQ(decide(pipeline, nullptr, i).action == Action::drop, alone[i]);
}

TEST(Pipeline, TheFirstMatchWins) {
  auto all = lossy("all", 1);
  all.match = MatchedFrames::everything;
  const std::vector<RuleConfig> rules = {lossy("roce", 0), all};
  Pipeline pipeline(Direction::west_to_east, kSeed, rules);
  EXPECT_EQ(decide(pipeline, &kBth, 0).rule, 0);
  EXPECT_EQ(decide(pipeline, &kBth, 0).action, Action::pass);
  EXPECT_EQ(decide(pipeline, nullptr, 0).rule, 1);
  EXPECT_EQ(decide(pipeline, nullptr, 0).action, Action::drop);
}

TEST(Pipeline, WhatMatchesNothingIsUntouched) {
  const auto rule = lossy("roce", 1);
  Pipeline pipeline(Direction::west_to_east, kSeed, std::span(&rule, 1));
  const auto decision = decide(pipeline, nullptr, 0);
  EXPECT_EQ(decision.rule, kUntouched);
  EXPECT_EQ(decision.action, Action::pass);
  EXPECT_EQ(decision.stage, Stage::none);
}

TEST(Pipeline, ARuleKeepsToItsDirection) {
  auto rule = lossy("west only", 1);
  rule.east_to_west = false;
  EXPECT_EQ(std::ranges::count(drops(kSeed, rule), true), 100'000);
  EXPECT_EQ(std::ranges::count(drops(kSeed, rule, Direction::east_to_west), true), 0);
}

TEST(Pipeline, DelayIsExactAndLossComesFirst) {
  auto rule = lossy("r", 0.5);
  rule.delay = Duration{1'903'508};
  Pipeline pipeline(Direction::west_to_east, kSeed, std::span(&rule, 1));
  const Instant now = instant_from_ns(1'700'000'000'123'456'789);
  int delayed = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto decision = decide(pipeline, &kBth, i, now);
    if (decision.action == Action::drop) {
      EXPECT_EQ(decision.stage, Stage::loss);
      continue;
    }
    ++delayed;
    EXPECT_EQ(decision.action, Action::queue);
    EXPECT_EQ(decision.stage, Stage::delay);
    EXPECT_EQ(to_ns(decision.release), 1'700'000'000'125'360'297);
  }
  EXPECT_GT(delayed, 400);
}

TEST(Pipeline, RulesOfOneDelayShareALine) {
  std::vector<RuleConfig> rules = {lossy("a", 0), lossy("b", 0), lossy("c", 0), lossy("d", 0)};
  rules[0].delay = rules[2].delay = Duration{5};
  rules[1].delay = Duration{9};
  Pipeline pipeline(Direction::west_to_east, kSeed, rules);
  EXPECT_EQ(pipeline.lines(), 2U);
  EXPECT_FALSE(pipeline.uses_wheel());
}

}  // namespace pipeline_test
}  // namespace lw::emulator
