// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stats/audit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "emulator/random/sampler.h"
#include "emulator/stats/audit.h"
#include "emulator/stats/jitter_stats.h"
#include "support/stage_runs.h"

namespace lw::emulator {
namespace audit_test {

RuleStats stats_of(const RuleConfig& config, std::uint64_t frames, std::uint64_t seed = 1) {
  Rule rule = test::rule_of(config, seed);
  for (std::uint64_t i = 0; i < frames; ++i)
    (void)test::decide(rule,
                       test::bare_arrival(i, instant_from_ns(static_cast<std::int64_t>(i) * 700)));
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
    // lost, bursts and their lengths, corrupted, duplicated, marked, jitter and its fit, held
    EXPECT_EQ(checks.size(), 9U);
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
            (Found{"mean burst", "bursts' lengths"}));
  EXPECT_EQ(broken([](auto& c) { c.corrupt->probability = 0.025; }), Found{"corrupted"});
  EXPECT_EQ(broken([](auto& c) { c.duplicate->probability = 0.025; }), Found{"duplicated"});
  EXPECT_EQ(broken([](auto& c) { c.mark->probability = 0.05; }), Found{"chosen to mark"});
  EXPECT_EQ(broken([](auto& c) { c.jitter->distribution = GammaDelay{2, 1020}; }),
            Found{"mean jitter"});
  EXPECT_EQ(broken([](auto& c) { c.reorder->fraction = 0.06; }), Found{"held back"});
}

/// Draws of one distribution in the bins of another.
bool fits(const Distribution& asked, const Distribution& drawn) {
  const FitBins bins(asked);
  const Sampler sampler(drawn);
  const Chance chance(1, 1);
  std::array<std::uint64_t, FitBins::kBins> counts{};
  for (std::uint64_t i = 0; i < 20'000; ++i) ++counts[bins(sampler(chance.bits(i)))];
  return chi_square(Stage::delay, "", counts, bins.probabilities(asked)).holds();
}

TEST(Audit, ADistributionOfTheSameMeanAndDeviationButAnotherFormIsFound) {
  const GammaDelay gamma{2, 1000};
  const NormalDelay normal{2000, 1000 * std::sqrt(2.0)};
  EXPECT_TRUE(fits(gamma, gamma));
  EXPECT_TRUE(fits(normal, normal));
  EXPECT_FALSE(fits(gamma, normal));
  EXPECT_FALSE(fits(normal, gamma));
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

/// Only checks of this name.
std::vector<Check> named(const std::vector<Check>& checks, std::string_view what) {
  std::vector<Check> result;
  std::ranges::copy_if(checks, std::back_inserter(result),
                       [&](const Check& check) { return check.what == what; });
  return result;
}

/// Frames of 1000 B that come a microsecond apart: 8.192 Gb/s on the line.
RuleStats stats_of_load(const RuleConfig& config, std::uint64_t frames = 100'000) {
  Rule rule = test::rule_of(config);
  for (std::uint64_t i = 0; i < frames; ++i)
    (void)test::decide(
        rule, test::bare_arrival(i, instant_from_ns(static_cast<std::int64_t>(i) * 1000), 1000));
  return rule.stats();
}

/// The same load, of frames that wait in the queue until they leave it.
RuleStats stats_of_waiting(const RuleConfig& config, std::uint64_t frames = 100'000) {
  Rule rule = test::rule_of(config);
  static constexpr std::array<std::byte, 60> kBytes{};
  const roce::Envelope envelope = roce::open_envelope(kBytes);
  std::uint64_t left = 0;
  const auto depart = [&](const RulesQueue::Frames::SentFrame& sent, std::uint64_t busy_bytes) {
    rule.count_departure(sent.handle, busy_bytes);
    (void)rule.depart(sent, left++, 0, envelope);
  };
  const auto came = [](std::uint64_t i) {
    return instant_from_ns(static_cast<std::int64_t>(i) * 1000);
  };
  for (std::uint64_t i = 0; i < frames; ++i) {
    while (rule.queue() && rule.queue()->depart(came(i), depart)) continue;
    if (rule.decide(test::bare_arrival(i, came(i), 1000)).action != Action::wait) break;
  }
  return rule.stats();
}

TEST(Audit, APolicerIsHeldToItsRate) {
  auto config = test::stage_rule();
  config.police = PoliceConfig{.rate_bps = 3e9, .burst_bytes = 100'000};
  const RuleStats stats = stats_of_load(config);
  const auto checks = named(audit(config, stats), "policed rate");
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_TRUE(checks[0].holds()) << checks[0].seen;
  EXPECT_NEAR(checks[0].seen, 3e9, 1e6);
  for (const double other : {2.99e9, 3.01e9}) {
    config.police->rate_bps = other;
    EXPECT_FALSE(named(audit(config, stats), "policed rate")[0].holds()) << other;
  }
  config.police->rate_bps = 1e10;  // nothing is dropped: nothing to be said
  EXPECT_TRUE(audit(config, stats_of_load(config)).empty());
}

TEST(Audit, AQueueIsHeldToItsRateAndItsBuffer) {
  auto config = test::stage_rule();
  config.queue = QueueConfig{.rate_bps = 5e9, .buffer_bytes = 20'000};
  const RuleStats stats = stats_of_load(config);
  EXPECT_TRUE(all_hold(audit(config, stats)));
  EXPECT_EQ(audit(config, stats).size(), 2U);
  const auto broken = [&](double rate, std::uint64_t buffer) {
    RuleConfig other = config;
    other.queue = QueueConfig{.rate_bps = rate, .buffer_bytes = buffer};
    return audit(other, stats);
  };
  for (const double rate : {4.999e9, 5.001e9})
    EXPECT_FALSE(named(broken(rate, 20'000), "rate while busy")[0].holds()) << rate;
  EXPECT_FALSE(named(broken(5e9, 19'000), "fullest buffer")[0].holds());
}

TEST(Audit, RedIsHeldToWhatTheQueueWas) {
  auto config = test::stage_rule();
  config.queue = QueueConfig{.rate_bps = 8.1e9, .buffer_bytes = 1'000'000};
  config.mark = MarkConfig{.red = Red{.kmin_bytes = 10'000, .kmax_bytes = 500'000, .share = 0.2}};
  const RuleStats stats = stats_of_load(config);
  ASSERT_GT(stats.red.between, 10'000U);
  EXPECT_TRUE(all_hold(audit(config, stats)));
  for (const double other : {0.17, 0.23}) {
    config.mark->red->share = other;
    EXPECT_FALSE(named(audit(config, stats), "chosen to mark")[0].holds()) << other;
  }
}

TEST(Audit, AStepOfRedIsHeldToItsShareOnArrivalAndOnLeaving) {
  auto config = test::stage_rule();
  config.queue = QueueConfig{.rate_bps = 8.1e9, .buffer_bytes = 1'000'000};
  config.mark = MarkConfig{
      .red = Red{.kmin_bytes = 10'000, .kmax_bytes = 500'000, .share = 0.2, .step = true}};
  for (const bool on_leaving : {false, true}) {
    config.mark->red->on_leaving = on_leaving;
    const RuleStats stats = stats_of_waiting(config);
    EXPECT_EQ(stats.judged_leaving > 0, on_leaving);
    EXPECT_TRUE(all_hold(audit(config, stats)));
    RuleConfig other = config;
    for (const double share : {0.18, 0.22}) {
      other.mark->red->share = share;
      EXPECT_FALSE(named(audit(other, stats), "chosen to mark")[0].holds()) << share;
    }
  }
}

TEST(Audit, SlotsAreHeldToTheirTimesAndLimits) {
  auto config = test::stage_rule();
  config.slot = SlotConfig{.least = Duration{5000}, .most = Duration{9000}, .frames = 4};
  const RuleStats stats = stats_of_load(config);
  EXPECT_EQ(audit(config, stats).size(), 3U);
  EXPECT_TRUE(all_hold(audit(config, stats)));
  const auto broken = [&](SlotConfig other, std::string_view what) {
    RuleConfig changed = config;
    changed.slot = other;
    return !named(audit(changed, stats), what)[0].holds();
  };
  SlotConfig slot = *config.slot;
  slot.least = Duration{5200};
  EXPECT_TRUE(broken(slot, "closest slots"));
  slot = *config.slot;
  slot.most = Duration{8800};
  EXPECT_TRUE(broken(slot, "farthest slots"));
  slot = *config.slot;
  slot.frames = 3;
  EXPECT_TRUE(broken(slot, "fullest slot"));
}

TEST(Audit, BitErrorsAreHeldToTheFramesLengths) {
  auto config = test::stage_rule();
  config.loss = BitErrors{1e-6};
  Rule rule = test::rule_of(config);
  for (std::uint64_t i = 0; i < 400'000; ++i)
    (void)test::decide(rule, test::bare_arrival(i, {}, i % 2 ? 4158 : 318));
  EXPECT_TRUE(all_hold(audit(config, rule.stats())));
  for (const double other : {0.8e-6, 1.25e-6}) {
    config.loss = BitErrors{other};
    EXPECT_FALSE(all_hold(audit(config, rule.stats()))) << other;
  }
}

/// A frame of 138 B is lost with 1 - (1 - rate)^1136, not with what its neighbours in length have.
TEST(Audit, BitErrorsAThirdOffAreFound) {
  auto config = test::stage_rule();
  config.loss = BitErrors{1e-5};
  Rule rule = test::rule_of(config);
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    IngressFrame arrival = test::bare_arrival(i, instant_from_ns(static_cast<std::int64_t>(i)));
    arrival.bytes = 138;
    (void)test::decide(rule, arrival);
  }
  RuleStats stats = rule.stats();
  EXPECT_TRUE(all_hold(audit(config, stats)));
  EXPECT_NEAR(audit(config, stats)[0].asked, 1 - std::pow(1 - 1e-5, 142 * 8), 1e-9);
  for (const double wrong : {2 / 3.0, 4 / 3.0}) {
    stats.loss.lost =
        static_cast<std::uint64_t>(static_cast<double>(rule.stats().loss.lost) * wrong);
    EXPECT_FALSE(all_hold(audit(config, stats))) << wrong;
  }
}

std::string_view verdict(double asked, std::uint64_t frames, std::uint64_t hits) {
  return binomial(Stage::loss, "lost", frames, hits, asked).holds() ? "holds" : "broken";
}

/// By the binomial's own tails: P(X > 0) = 5e-5, P(X > 1) = 1e-9; P(X = 0) = e^-50, e^-5.
TEST(Audit, SmallAndWholeSharesAreHeldToTheBinomialsTails) {
  EXPECT_EQ(verdict(1e-9, 50'000, 1), "holds");
  EXPECT_EQ(verdict(1e-9, 50'000, 2), "broken");
  EXPECT_EQ(verdict(1e-3, 50'000, 0), "broken");
  EXPECT_EQ(verdict(1e-4, 50'000, 0), "holds");
  EXPECT_EQ(verdict(1, 50'000, 50'000), "holds");
  EXPECT_EQ(verdict(1, 50'000, 49'999), "broken");
  EXPECT_EQ(verdict(0, 50'000, 0), "holds");
  EXPECT_EQ(verdict(0, 50'000, 1), "broken");
  EXPECT_EQ(verdict(0.5, 10, 10), "holds");
}

/// Neither state is ever left: every frame is lost by itself.
TEST(Audit, AModelThatStaysInItsGoodStateHolds) {
  auto config = test::stage_rule();
  config.loss = GilbertElliott{.p = 0, .r = 0, .good_loss = 0.01};
  EXPECT_TRUE(all_hold(audit(config, stats_of(config, 50'000))));
  const RuleStats stats = stats_of(config, 50'000);
  config.loss = GilbertElliott{.p = 0, .r = 0, .good_loss = 0.015};
  EXPECT_FALSE(all_hold(audit(config, stats)));
}

/// The same share in bursts of other lengths.
TEST(Audit, BurstsAreHeldToTheirLengths) {
  const auto lossy = [](double begins, std::uint32_t shortest, std::uint32_t longest) {
    auto config = test::stage_rule();
    config.loss = Bursts{begins, shortest, longest};
    return config;
  };
  for (const auto& [config, other] : {std::pair{lossy(0.01, 5, 5), lossy(0.01255, 4, 4)},
                                      std::pair{lossy(0.01, 3, 8), lossy(0.01, 5, 6)},
                                      std::pair{lossy(0.3, 2, 2), lossy(0.225, 3, 3)},
                                      std::pair{lossy(0.01, 70, 90), lossy(0.01, 60, 100)}}) {
    EXPECT_TRUE(all_hold(audit(config, stats_of(config, 400'000))));
    EXPECT_FALSE(all_hold(audit(config, stats_of(other, 400'000))));
  }
}

TEST(Audit, SwappedNeighboursAreHeldToTheirShare) {
  auto config = test::stage_rule();
  config.reorder = ReorderConfig{.fraction = 0.5, .frames = 1, .swap = true};
  const RuleStats stats = stats_of(config, 100'000);
  const auto checks = audit(config, stats);
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_TRUE(checks[0].holds());
  EXPECT_NEAR(checks[0].asked, 1.0 / 3, 1e-12);
  config.reorder->fraction = 0.45;
  EXPECT_FALSE(audit(config, stats)[0].holds());
}

TEST(Audit, FramesSentAheadAreHeldToTheirShare) {
  auto config = test::stage_rule();
  config.delay = Duration{1000};
  config.reorder = ReorderConfig{.fraction = 0.25, .gap = 5};
  const RuleStats stats = stats_of(config, 100'000);
  const auto checks = audit(config, stats);
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_TRUE(checks[0].holds()) << checks[0].seen;
  EXPECT_NEAR(checks[0].asked, 1.0 / 8, 1e-12);  // four frames, and four more on average
  config.reorder->gap = 6;
  EXPECT_FALSE(audit(config, stats)[0].holds());
}

}  // namespace audit_test
}  // namespace lw::emulator
