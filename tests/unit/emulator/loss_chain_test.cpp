// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "emulator/stats/audit.h"
#include "emulator/stats/loss_audit.h"
#include "support/stage_runs.h"

namespace lw::emulator {
namespace loss_chain_test {

constexpr std::size_t kStates = LossChain::kStates;
using Shares = LossChain::EachState<double>;

std::vector<LossConfig> models() {
  return {GilbertElliott{.p = 0.02, .r = 0.3},
          GilbertElliott{.p = 0.05, .r = 0.2, .bad_loss = 0.6, .good_loss = 0},
          GilbertElliott{.p = 0.05, .r = 0.2, .bad_loss = 0.7, .good_loss = 0.01},
          GilbertElliott{.p = 0.9, .r = 0.95, .bad_loss = 0.5, .good_loss = 0.1},
          FourState{.p13 = 0.02, .p31 = 0.3},
          FourState{.p13 = 0.02, .p31 = 0.25, .p32 = 0.1, .p23 = 0.4, .p14 = 0.01},
          FourState{.p13 = 0, .p31 = 1, .p32 = 0, .p23 = 0, .p14 = 0.1},
          FourState{.p13 = 0.5, .p31 = 0.5, .p32 = 0.5, .p23 = 0.5, .p14 = 0.5}};
}

LossChain chain_of(const LossConfig& config) {
  if (const auto* four = std::get_if<FourState>(&config)) return emulator::chain_of(*four);
  return emulator::chain_of(std::get<GilbertElliott>(config));
}

Shares after_a_frame(const LossChain& chain, const Shares& before) {
  Shares after{};
  for (std::size_t i = 0; i < kStates; ++i)
    for (std::size_t j = 0; j < kStates; ++j) after[j] += before[i] * chain.step[i][j];
  return after;
}

/// By going on until nothing changes, and by the closed formulas.
TEST(LossChain, IsWhereItsStepsLeadTo) {
  for (const LossConfig& config : models()) {
    const LossChain chain = chain_of(config);
    Shares shares = chain.first[0], next{};
    for (int i = 0; i < 5000; ++i) shares = after_a_frame(chain, shares);
    next = after_a_frame(chain, shares);
    double lost = 0, begun = 0;
    for (std::size_t j = 0; j < kStates; ++j) {
      if (!chain.lost[j]) continue;
      lost += (shares[j] + next[j]) / 2;
      for (std::size_t i = 0; i < kStates; ++i)
        if (!chain.lost[i]) begun += (shares[i] + next[i]) / 2 * chain.step[i][j];
    }
    EXPECT_NEAR(expected_loss(config, 0), lost, 1e-9) << describe(config);
    ASSERT_TRUE(mean_burst(chain)) << describe(config);
    EXPECT_NEAR(*mean_burst(chain), lost / begun, 1e-6) << describe(config);
  }
}

TEST(LossChain, WithStatesThatAreNeverLeftHasNoMeanBurst) {
  EXPECT_FALSE(mean_burst(emulator::chain_of(FourState{.p13 = 0.1, .p31 = 0})));
  EXPECT_FALSE(mean_burst(emulator::chain_of(GilbertElliott{.p = 0.1, .r = 0})));
}

/// How likely each number of losses is among so many frames, the first being in a state of `first`.
std::vector<double> numbers_lost(const LossChain& chain, const Shares& first, std::size_t frames) {
  std::vector<Shares> now(frames + 1), next(frames + 1);
  for (std::size_t j = 0; j < kStates; ++j) now[chain.lost[j] ? 1 : 0][j] = first[j];
  for (std::size_t frame = 1; frame < frames; ++frame) {
    std::ranges::fill(next, Shares{});
    for (std::size_t lost = 0; lost <= frame; ++lost) {
      const Shares after = after_a_frame(chain, now[lost]);
      for (std::size_t j = 0; j < kStates; ++j) next[lost + (chain.lost[j] ? 1 : 0)][j] += after[j];
    }
    std::swap(now, next);
  }
  std::vector<double> result;
  for (const Shares& shares : now)
    result.push_back(std::accumulate(shares.begin(), shares.end(), 0.0));
  return result;
}

/// Counted out: what lies outside is unlikely enough from wherever the model begins, and the bounds
/// aren't much wider than they must be.
TEST(LossChain, BoundsAreThoseOfTheExactDistribution) {
  constexpr std::size_t kFrames = 600;
  auto all = models();
  all.emplace_back(FourState{.p13 = 1e-5, .p31 = 0.02});  // hardly ever, but then for long
  for (const LossConfig& config : all) {
    const LossChain chain = chain_of(config);
    const LikelyRange range = likely_losses(chain, kFrames, 0);
    double worst = 0;
    for (std::size_t begin = 0; begin < kStates; ++begin) {
      if (begin > 0 && !chain.reached[begin]) continue;
      const auto likely = numbers_lost(chain, chain.first[begin], kFrames);
      double outside = 0;
      for (std::size_t lost = 0; lost < likely.size(); ++lost)
        if (static_cast<double>(lost) < range.low || static_cast<double>(lost) > range.high)
          outside += likely[lost];
      worst = std::max(worst, outside);
    }
    EXPECT_LT(worst, 1e-5) << describe(config);
    if (config != all.back()) {
      EXPECT_GT(worst, 1e-9) << describe(config);
    }
  }
}

RuleStats stats_of(const LossConfig& done, std::uint64_t frames, std::uint64_t seed = 1) {
  auto config = test::stage_rule();
  config.loss = done;
  Rule rule = test::rule_of(config, seed);
  for (std::uint64_t i = 0; i < frames; ++i) (void)rule.decide(test::bare_arrival(i));
  return rule.stats();
}

std::vector<Check> checks_of(const LossConfig& asked, const RuleStats& stats) {
  auto config = test::stage_rule();
  config.loss = asked;
  return audit(config, stats);
}

TEST(LossChain, RaisesNoFalseAlarm) {
  auto all = models();
  all.emplace_back(FourState{.p13 = 1e-4, .p31 = 0.01, .p32 = 0.001, .p23 = 0.1, .p14 = 1e-4});
  for (const LossConfig& config : all)
    for (std::uint64_t seed = 1; seed <= test::kManyFrames / 4000; ++seed)
      for (const Check& check : checks_of(config, stats_of(config, 1 + seed * 13, seed)))
        EXPECT_TRUE(check.holds()) << describe(config) << ", seed " << seed << ": " << check.what;
}

// As many as it takes to find what is a fifth off, whatever slows the test down.
constexpr std::uint64_t kEnough = 1'000'000;

using Names = std::vector<std::string_view>;

/// The names of the checks that fail.
Names broken(const LossConfig& asked, const RuleStats& stats) {
  Names names;
  for (const Check& check : checks_of(asked, stats))
    if (!check.holds()) names.push_back(check.what);
  return names;
}

TEST(LossChain, FindsParametersOfFourStatesThatAreAFifthOff) {
  const FourState four{.p13 = 0.02, .p31 = 0.25, .p32 = 0.1, .p23 = 0.4, .p14 = 0.01};
  const RuleStats stats = stats_of(four, kEnough);
  EXPECT_EQ(broken(four, stats), Names{});
  EXPECT_EQ(checks_of(four, stats).size(), 3U);
  const auto broken_by = [&](auto change) {
    FourState other = four;
    change(other);
    return broken(other, stats);
  };
  EXPECT_NE(broken_by([](FourState& m) { m.p13 *= 1.2; }), Names{});
  EXPECT_NE(broken_by([](FourState& m) { m.p31 *= 1.2; }), Names{});
  EXPECT_NE(broken_by([](FourState& m) { m.p14 *= 1.2; }), Names{});
  EXPECT_NE(broken_by([](FourState& m) { m.p23 *= 0.25; }), Names{});  // shows in little else
}

TEST(LossChain, FindsParametersOfTwoStatesThatAreAFifthOff) {
  const GilbertElliott elliott{.p = 0.05, .r = 0.2, .bad_loss = 0.7, .good_loss = 0.01};
  const RuleStats stats = stats_of(elliott, kEnough);
  EXPECT_EQ(broken(elliott, stats), Names{});
  const auto broken_by = [&](auto change) {
    GilbertElliott other = elliott;
    change(other);
    return broken(other, stats);
  };
  EXPECT_NE(broken_by([](GilbertElliott& m) { m.p *= 1.2; }), Names{});
  EXPECT_NE(broken_by([](GilbertElliott& m) { m.r *= 1.2; }), Names{});
  EXPECT_NE(broken_by([](GilbertElliott& m) { m.bad_loss *= 1.2; }), Names{});
  EXPECT_NE(broken_by([](GilbertElliott& m) { m.good_loss *= 1.5; }), Names{});
}

TEST(LossChain, TheSameShareInLongerBurstsIsFound) {
  EXPECT_EQ(broken(FourState{.p13 = 0.02, .p31 = 0.3},
                   stats_of(FourState{.p13 = 0.016, .p31 = 0.24}, kEnough)),
            (Names{"mean burst", "bursts' lengths"}));
}

/// p14 makes the single ones more frequent than a burst's end would.
TEST(LossChain, LossesThatStandAloneAreToldFromBursts) {
  const FourState alone{.p13 = 0.02, .p31 = 0.2, .p14 = 0.02};
  // As many bursts, as many frames in them.
  const FourState mixed{.p13 = 0.04, .p31 = 1 / 3.0};
  ASSERT_NEAR(expected_loss(alone, 0), expected_loss(mixed, 0), 1e-12);
  EXPECT_EQ(broken(mixed, stats_of(alone, kEnough)), Names{"bursts' lengths"});
}

}  // namespace loss_chain_test
}  // namespace lw::emulator
