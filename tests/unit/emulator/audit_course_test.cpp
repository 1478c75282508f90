// SPDX-License-Identifier: BSD-3-Clause
// What changes in the course of time, held against its parameters: traces and wandering delays.
#include <algorithm>
#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include "emulator/stats/audit.h"
#include "support/stage_runs.h"

namespace lw::emulator {
namespace audit_course_test {

Instant at(std::int64_t ns) { return instant_from_ns(ns); }

std::optional<Check> named(const RuleConfig& config, const RuleStats& stats,
                           std::string_view what) {
  for (const Check& check : audit(config, stats))
    if (check.what == what) return check;
  return std::nullopt;
}

/// Three rows of 10 us each, again and again: the second without a loss and a rate of its own.
RuleConfig traced() {
  auto config = test::stage_rule();
  config.loss = 0.02;
  config.queue = QueueConfig{.rate_bps = 9e9, .buffer_bytes = 1'000'000};
  config.delay = Duration{1000};
  config.trace = TraceConfig{{{Duration{0}, {}, 0.1, 8e9},
                              {Duration{10'000}, {}, {}, {}},
                              {Duration{20'000}, {}, 0.001, 30e9}},
                             Duration{30'000}};
  return config;
}

/// Frames of 1000 B a microsecond apart: 8.192 Gb/s on the line.
RuleStats stats_of(const RuleConfig& config, std::uint64_t frames, std::uint64_t seed = 1) {
  Rule rule = test::rule_of(config, seed);
  for (std::uint64_t i = 0; i < frames; ++i)
    (void)test::decide(rule, test::bare_arrival(i, at(static_cast<std::int64_t>(i) * 1000), 1000));
  return rule.stats();
}

TEST(AuditOfATrace, HoldsItToItsRows) {
  const RuleConfig config = traced();
  const RuleStats stats = stats_of(config, 100'000);
  const auto lost = named(config, stats, "lost by the trace");
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->holds());
  EXPECT_NEAR(lost->asked, 0.101 / 2, 1e-5);
  EXPECT_EQ(lost->frames, 66'670U);
  const auto own = named(config, stats, "lost");
  ASSERT_TRUE(own && own->holds());
  EXPECT_EQ(own->frames, 33'330U);
  const auto rate = named(config, stats, "rate while busy");
  ASSERT_TRUE(rate);
  EXPECT_TRUE(rate->holds()) << rate->seen;
  ASSERT_TRUE(named(config, stats, "fullest buffer"));
}

TEST(AuditOfATrace, FindsWhatIsOff) {
  const RuleStats stats = stats_of(traced(), 100'000);
  const auto broken = [&](auto change) {
    RuleConfig config = traced();
    change(config);
    std::vector<std::string_view> names;
    for (const Check& check : audit(config, stats))
      if (!check.holds()) names.push_back(check.what);
    return names;
  };
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(broken([](RuleConfig&) {}), Names{});
  EXPECT_EQ(broken([](RuleConfig& c) { c.trace->rows[0].loss = 0.12; }),
            Names{"lost by the trace"});
  EXPECT_EQ(broken([](RuleConfig& c) { c.trace->rows[2].loss = 0.01; }),
            Names{"lost by the trace"});
  EXPECT_EQ(broken([](RuleConfig& c) { c.loss = 0.025; }), Names{"lost"});
  EXPECT_EQ(broken([](RuleConfig& c) { c.trace->rows[0].rate_bps = 8.1e9; }),
            Names{"rate while busy"});
  EXPECT_EQ(broken([](RuleConfig& c) { c.queue->rate_bps = 9.1e9; }), Names{"rate while busy"});
}

TEST(AuditOfATrace, RaisesNoFalseAlarm) {
  for (std::uint64_t seed = 1; seed <= test::kManyFrames / 500; ++seed)
    for (const Check& check : audit(traced(), stats_of(traced(), 1 + seed, seed)))
      EXPECT_TRUE(check.holds()) << "seed " << seed << ": " << check.what;
}

TEST(Trace, ARowWithoutARateLeavesTheQueuesOwn) {
  Rule rule = test::rule_of(traced());
  const auto takes = [&](std::int64_t ns) {
    const Decision decision =
        test::decide(rule, test::bare_arrival(7, at(ns), 9'976), {.mark = true});
    return (decision.release - at(ns)).count();
  };
  // 10,000 B on the line; a microsecond of delay comes on top.
  EXPECT_EQ(takes(0), 10'000 + 1000);
  EXPECT_EQ(takes(12'000), 8'889 + 1000);
}

/// A queue that stays while its trace goes leaves at its own rate again.
TEST(Trace, ThatIsTakenAwayLeavesTheQueuesRate) {
  RuleConfig before = traced(), after = traced();
  after.trace.reset();
  after.loss = before.loss = 0.0;
  before.trace->rows[0].loss.reset();
  Rule old = test::rule_of(before);
  EXPECT_EQ(test::decide(old, test::bare_arrival(0, at(0), 9'976)).release, at(10'000 + 1000));
  Rule rule = test::rule_of(after);
  rule.inherit(old, after, before, at(5'000'000));
  EXPECT_EQ(test::decide(rule, test::bare_arrival(1, at(5'000'000), 9'976)).release,
            at(5'000'000 + 8'889 + 1000));
}

/// Every third frame, whatever else of the rule changes meanwhile.
TEST(Audit, LossesAreCountedAsLongAsTheirModelLasts) {
  auto config = test::stage_rule();
  config.loss = EveryNth{3};
  config.delay = Duration{1000};
  RuleConfig later = config;
  later.delay = Duration{2000};
  Rule old = test::rule_of(config), rule = test::rule_of(later);
  std::uint64_t number = 0;
  for (; number < 5; ++number) (void)test::decide(old, test::bare_arrival(number));
  rule.inherit(old, later, config, {});
  (void)test::decide(rule, test::bare_arrival(number));
  const auto lost = named(later, rule.stats(), "lost");
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->holds()) << lost->seen << " of " << lost->frames;
  EXPECT_EQ(rule.totals().loss.frames, 6U);
  EXPECT_EQ(rule.totals().loss.lost, 2U);
}

constexpr std::int64_t kHalfLife = 10'000;

RuleConfig wandering(const Distribution& distribution = GammaDelay{2, 1000}) {
  auto config = test::stage_rule();
  config.jitter = JitterConfig{distribution, Duration{kHalfLife}};
  return config;
}

/// Frames a tenth of a half-life apart.
RuleStats stats_over(const RuleConfig& config, std::int64_t half_lives, std::uint64_t seed = 1) {
  Rule rule = test::rule_of(config, seed);
  for (std::int64_t i = 0; i < 10 * half_lives; ++i)
    (void)test::decide(rule, test::bare_arrival(static_cast<std::uint64_t>(i), at(i * 1003)));
  return rule.stats();
}

TEST(AuditOfAWanderingDelay, HoldsAndFindsWhatIsOff) {
  const RuleStats stats = stats_over(wandering(), 25'000);
  const auto broken = [&](const Distribution& distribution, std::int64_t half_life) {
    auto config = test::stage_rule();
    config.jitter = JitterConfig{distribution, Duration{half_life}};
    std::vector<std::string_view> names;
    for (const Check& check : audit(config, stats))
      if (!check.holds()) names.push_back(check.what);
    return names;
  };
  using Names = std::vector<std::string_view>;
  const GammaDelay asked{2, 1000};
  EXPECT_EQ(audit(wandering(), stats).size(), 3U);
  EXPECT_EQ(broken(asked, kHalfLife), Names{});
  for (const std::int64_t other : {2 * kHalfLife, kHalfLife / 2, kHalfLife * 4 / 3})
    EXPECT_EQ(broken(asked, other), Names{"half-life"}) << other;
  EXPECT_EQ(broken(GammaDelay{2, 1200}, kHalfLife), Names{"mean jitter"});
}

/// What was drawn from one distribution in the bins of another of the same mean.
TEST(AuditOfAWanderingDelay, FindsAnotherDeviation) {
  const NormalDelay asked{20'000, 1000};
  for (const double deviation : {800.0, 1000.0, 1200.0}) {
    RuleStats stats;
    const FitBins bins(asked);
    Jitter jitter(*wandering(NormalDelay{20'000, deviation}).jitter, Chance(1, 2));
    for (std::int64_t i = 0; i < 4000; ++i) ++stats.fit[bins(jitter(0, 0, at(i * 5 * kHalfLife)))];
    const auto fit = named(wandering(asked), stats, "jitter's distribution");
    ASSERT_TRUE(fit);
    EXPECT_EQ(fit->holds(), deviation == 1000.0) << deviation << ": " << fit->seen;
  }
}

/// Seen minus asked, in parts of the bounds: over many runs these deviate by as much as bounds of
/// 4.5 deviations allow for, and not much less, or what is off would not be found.
TEST(AuditOfAWanderingDelay, RaisesNoFalseAlarmAndIsNoWiderThanItMust) {
  constexpr std::int64_t kHalfLives = 5000;
  const auto runs = test::kManyFrames / 10'000;
  double mean_squares = 0, half_life_squares = 0, fit = 0;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    const RuleStats stats = stats_over(wandering(), kHalfLives, seed);
    const auto part = [&](std::string_view what) {
      const auto check = named(wandering(), stats, what);
      EXPECT_TRUE(check && check->holds()) << what << ", seed " << seed;
      if (!check) return 0.0;
      return check->seen > check->asked
                 ? (check->seen - check->asked) / (check->high - check->asked)
                 : (check->asked - check->seen) / (check->asked - check->low);
    };
    mean_squares += std::pow(part("mean jitter"), 2);
    half_life_squares += std::pow(part("half-life"), 2);
    const auto check = named(wandering(), stats, "jitter's distribution");
    fit += check ? check->seen / check->asked : 0;
  }
  const auto deviations = [&](double squares) {
    return 4.5 * std::sqrt(squares / static_cast<double>(runs));
  };
  EXPECT_LT(deviations(mean_squares), 1.25);
  EXPECT_GT(deviations(mean_squares), 0.7);
  EXPECT_LT(deviations(half_life_squares), 1.25);
  EXPECT_GT(deviations(half_life_squares), 0.6);
  EXPECT_NEAR(fit / static_cast<double>(runs), 1, 0.2);
}

TEST(AuditOfAWanderingDelay, IsSilentAboutTooShortARunAndFramesTooFarApart) {
  EXPECT_TRUE(audit(wandering(), stats_over(wandering(), 300)).empty());
  Rule rule = test::rule_of(wandering());
  for (std::int64_t i = 0; i < 3000; ++i)
    (void)test::decide(rule,
                       test::bare_arrival(static_cast<std::uint64_t>(i), at(i * 7 * kHalfLife)));
  EXPECT_FALSE(named(wandering(), rule.stats(), "half-life"));
  const auto mean = named(wandering(), rule.stats(), "mean jitter");
  ASSERT_TRUE(mean && mean->holds());
  EXPECT_EQ(mean->frames, 3000U);
}

}  // namespace audit_course_test
}  // namespace lw::emulator
