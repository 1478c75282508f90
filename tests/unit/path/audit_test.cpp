// SPDX-License-Identifier: BSD-3-Clause
#include "path/audit.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "support/stage_runs.h"

namespace lw::path {
namespace {

RuleStats stats_of(const RuleConfig& config, std::uint64_t frames, std::uint64_t seed = 1) {
  Rule rule = test::rule_of(config, seed);
  for (std::uint64_t i = 0; i < frames; ++i)
    (void)rule.decide(test::bare_arrival(i, instant_from_ns(static_cast<std::int64_t>(i) * 700)));
  return rule.stats();
}

RuleConfig many_stages() {
  auto config = test::stage_rule();
  config.loss = GilbertElliott{.p = 0.01, .r = 0.25};
  config.corrupt = CorruptConfig{.probability = 0.02};
  config.duplicate = DuplicateConfig{0.03, 1};
  config.mark = MarkConfig{.probability = 0.04};
  config.jitter = JitterConfig{GammaDelay{2, 1000}, {}};
  config.reorder = ReorderConfig{.fraction = 0.05, .by = Duration{100}};
  return config;
}

bool all_hold(const std::vector<Check>& checks) {
  return std::ranges::all_of(checks, [](const Check& check) { return check.holds(); });
}

TEST(Audit, StagesThatDoWhatTheyWereAskedHold) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const auto checks = audit(many_stages(), stats_of(many_stages(), 200'000, seed));
    EXPECT_EQ(checks.size(), 7U);  // lost, bursts, corrupted, duplicated, marked, jitter, held
    for (const Check& check : checks)
      EXPECT_TRUE(check.holds()) << check.what << ": " << check.seen;
  }
}

/// What was done for one set of parameters is not what another asks for: each check finds its own.
TEST(Audit, EveryStageThatDoesNotIsFound) {
  const RuleStats stats = stats_of(many_stages(), 200'000);
  using Found = std::vector<std::string_view>;
  const auto broken = [&](auto change) {
    RuleConfig config = many_stages();
    change(config);
    Found found;
    for (const Check& check : audit(config, stats))
      if (!check.holds()) found.push_back(check.what);
    return found;
  };
  EXPECT_EQ(broken([](auto& c) { c.loss = 0.05; }), Found{"lost"});
  EXPECT_EQ(broken([](auto& c) { c.loss = GilbertElliott{.p = 0.02, .r = 0.5}; }),
            Found{"mean burst"});
  EXPECT_EQ(broken([](auto& c) { c.corrupt->probability = 0.025; }), Found{"corrupted"});
  EXPECT_EQ(broken([](auto& c) { c.duplicate->probability = 0.025; }), Found{"duplicated"});
  EXPECT_EQ(broken([](auto& c) { c.mark->probability = 0.05; }), Found{"chosen to mark"});
  EXPECT_EQ(broken([](auto& c) { c.jitter->distribution = GammaDelay{2, 1020}; }),
            Found{"mean jitter"});
  EXPECT_EQ(broken([](auto& c) { c.reorder->fraction = 0.06; }), Found{"held back"});
}

TEST(Audit, WhatIsExactIsHeldExactly) {
  for (const LossConfig& loss :
       {LossConfig(EveryNth{7}), LossConfig(BitPattern{{true, false, true}}),
        LossConfig(ListedFrames{{1, 5, 50'000}})}) {
    auto config = test::stage_rule();
    config.loss = loss;
    RuleStats stats = stats_of(config, 1000);
    ASSERT_EQ(audit(config, stats).size(), 1U);
    EXPECT_TRUE(all_hold(audit(config, stats))) << describe(loss);
    ++stats.loss.lost;
    EXPECT_FALSE(all_hold(audit(config, stats))) << describe(loss);
  }
}

TEST(Audit, RareLossesAndFewFramesRaiseNoFalseAlarm) {
  auto config = test::stage_rule();
  config.loss = 1e-6;
  for (const std::uint64_t frames : {1, 10, 100'000}) {
    EXPECT_TRUE(all_hold(audit(config, stats_of(config, frames))));
  }
  RuleStats stats = stats_of(config, 100'000);
  stats.loss.lost = 1;  // one in ten runs has it
  EXPECT_TRUE(all_hold(audit(config, stats)));
  stats.loss.lost = 30;
  EXPECT_FALSE(all_hold(audit(config, stats)));
  EXPECT_TRUE(audit(config, RuleStats{}).empty());
}

TEST(Audit, BurstsHoldTheirShare) {
  auto config = test::stage_rule();
  config.loss = Bursts{0.001, 2, 9};
  EXPECT_TRUE(all_hold(audit(config, stats_of(config, 200'000))));
  RuleStats stats = stats_of(config, 200'000);
  stats.loss.lost *= 3;
  EXPECT_FALSE(all_hold(audit(config, stats)));
}

}  // namespace
}  // namespace lw::path
