// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fifo.h"
#include "support/stage_runs.h"

namespace lw::emulator {
namespace stages_test {

using test::kManyFrames;
using testing::ElementsAre;

Instant at(std::int64_t ns) { return instant_from_ns(ns); }

/// A bucket of 3000 B filled at 8 Gb/s, a byte a nanosecond; frames of 1000 B on the line.
TEST(Police, PassesWhatTheBucketHolds) {
  Policer police({.rate_bps = 8e9, .burst_bytes = 3000, .overhead = 0});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(police.conforms(1000, at(5)));
  EXPECT_FALSE(police.conforms(1000, at(5)));
  EXPECT_FALSE(police.conforms(1000, at(1004)));
  EXPECT_TRUE(police.conforms(1000, at(1005)));
  // Left alone it fills up, and no further.
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(police.conforms(1000, at(1'000'000)));
  EXPECT_FALSE(police.conforms(1000, at(1'000'000)));
}

/// Captures may begin at stamp 0, and before.
TEST(Policer, RefillsFromAnyStampOn) {
  for (const std::int64_t start : {0, -5000, 7}) {
    Policer police({.rate_bps = 8e9, .burst_bytes = 1000, .overhead = 0});
    EXPECT_TRUE(police.conforms(1000, instant_from_ns(start)));
    EXPECT_FALSE(police.conforms(1000, instant_from_ns(start + 999))) << start;
    EXPECT_TRUE(police.conforms(1000, instant_from_ns(start + 1000))) << start;
    EXPECT_TRUE(police.conforms(500, instant_from_ns(start + 1500))) << start;
  }
}

TEST(Police, CountsAFramesOverheadAndEthernetsMinimum) {
  Policer police({.rate_bps = 8e9, .burst_bytes = 168});
  EXPECT_TRUE(police.conforms(40, at(0)));  // 60 + 24
  EXPECT_TRUE(police.conforms(60, at(0)));
  EXPECT_FALSE(police.conforms(1, at(0)));
}

/// Over a long time what passes is the bucket and the rate.
TEST(Police, HoldsItsRate) {
  auto config = test::stage_rule();
  config.police = PoliceConfig{.rate_bps = 1e9, .burst_bytes = 100'000, .overhead = 24};
  Rule rule = test::rule_of(config);
  std::uint64_t passed = 0;
  constexpr std::int64_t kFrames = 100'000, kApart = 1000;
  for (std::int64_t i = 0; i < kFrames; ++i) {
    const auto decision =
        test::decide(rule, test::bare_arrival(static_cast<std::uint64_t>(i), at(i * kApart), 1000));
    passed += decision.action != Action::drop ? 1U : 0U;
    ASSERT_TRUE(decision.action != Action::drop || decision.stage == Stage::police);
  }
  const double allowed = 100'000 + static_cast<double>((kFrames - 1) * kApart) / 8;
  EXPECT_NEAR(static_cast<double>(passed) * 1024, allowed, 1024);
}

/// 1 Gb/s: a frame of 976 B takes 1000 B of line with its overhead, 8000 ns.
TEST(Fifo, FramesLeaveAtTheLinksRate) {
  test::Fifo queue({.rate_bps = 1e9, .buffer_bytes = 10'000});
  EXPECT_EQ(queue.enqueue(976, at(100)), at(8100));
  EXPECT_EQ(queue.enqueue(976, at(100)), at(16'100));
  EXPECT_EQ(queue.occupancy(at(8099)), 1952U);
  EXPECT_EQ(queue.occupancy(at(8100)), 976U);
  EXPECT_EQ(queue.enqueue(976, at(20'000)), at(28'000));
}

TEST(Fifo, DropsTheTailOfWhatItCanNotHold) {
  test::Fifo queue({.rate_bps = 1e9, .buffer_bytes = 2000});
  EXPECT_TRUE(queue.enqueue(1000, at(0)));
  EXPECT_TRUE(queue.enqueue(1000, at(0)));
  EXPECT_FALSE(queue.enqueue(60, at(0)));
  EXPECT_TRUE(queue.enqueue(60, at(8192)));
}

/// 64 B frames at 100 Gb/s take 6.72 ns each: after 10^6 of them no fraction is lost.
TEST(Fifo, LosesNoFractionsOfANanosecond) {
  test::Fifo queue({.rate_bps = 100e9, .buffer_bytes = 100'000'000});
  std::optional<Instant> last;
  for (int i = 0; i < 1'000'000; ++i) last = queue.enqueue(60, at(0));
  ASSERT_TRUE(last);
  EXPECT_NEAR(static_cast<double>(to_ns(*last)), 6'720'000, 1);
}

/// A queue at 1 Gb/s with three frames of 8 us each, replaced by another at 12 us: the rest of the
/// second frame, half of it, and the third leave at the new rate.
test::Fifo replaced(const QueueConfig& after, std::int64_t at_ns = 12'000) {
  test::Fifo old({.rate_bps = 1e9, .buffer_bytes = 10'000}), queue(after);
  for (int i = 0; i < 3; ++i) (void)old.enqueue(976, at(0));
  queue.take_over(old, at(at_ns));
  return queue;
}

TEST(Fifo, WhatWaitsLeavesAtTheNewRateFromTheChangeOn) {
  test::Fifo queue = replaced({.rate_bps = 2e9, .buffer_bytes = 10'000});
  EXPECT_EQ(queue.departures().size(), 2U);
  EXPECT_EQ(queue.departures().front(), at(14'000));
  EXPECT_EQ(queue.departures().back(), at(18'000));
  EXPECT_EQ(queue.enqueue(976, at(13'000)), at(22'000));
  test::Fifo slower = replaced({.rate_bps = 0.5e9, .buffer_bytes = 10'000});
  EXPECT_EQ(slower.departures().front(), at(20'000));
  EXPECT_EQ(slower.departures().back(), at(36'000));
}

TEST(Fifo, ASmallerBufferKeepsWhatIsInAndAdmitsNothingUntilThereIsRoom) {
  test::Fifo queue = replaced({.rate_bps = 1e9, .buffer_bytes = 100}, 1000);
  EXPECT_EQ(queue.occupancy(at(1000)), 3 * 976U);
  EXPECT_FALSE(queue.enqueue(60, at(2000)));
  EXPECT_EQ(queue.departures().back(), at(24'000));
  EXPECT_FALSE(queue.enqueue(60, at(23'999)));
  EXPECT_TRUE(queue.enqueue(60, at(24'000)));
  EXPECT_FALSE(queue.enqueue(60, at(24'000)));
}

TEST(Fifo, MoreOverheadCountsForFramesThatHaveNotBegunToLeave) {
  test::Fifo queue = replaced({.rate_bps = 1e9, .buffer_bytes = 10'000, .overhead = 1024});
  EXPECT_EQ(queue.departures().front(), at(16'000));
  EXPECT_EQ(queue.departures().back(), at(32'000));
}

TEST(Police, AChangeKeepsTheTokens) {
  // 1 B a nanosecond. The bucket of 10,000 B is empty at 0, and has 5000 B at 5000 ns.
  const auto emptied = [] {
    Policer policer({.rate_bps = 8e9, .burst_bytes = 10'000, .overhead = 0});
    EXPECT_TRUE(policer.conforms(10'000, at(0)));
    return policer;
  };
  Policer same({.rate_bps = 8e9, .burst_bytes = 20'000, .overhead = 0});
  same.take_over(emptied(), at(5000));
  EXPECT_FALSE(same.conforms(5001, at(5000)));
  EXPECT_TRUE(same.conforms(5000, at(5000)));
  Policer faster({.rate_bps = 16e9, .burst_bytes = 20'000, .overhead = 0});
  faster.take_over(emptied(), at(5000));
  EXPECT_FALSE(faster.conforms(7001, at(6000)));
  EXPECT_TRUE(faster.conforms(7000, at(6000)));
  Policer smaller({.rate_bps = 8e9, .burst_bytes = 1000, .overhead = 0});
  smaller.take_over(emptied(), at(5000));
  EXPECT_FALSE(smaller.conforms(1001, at(5000)));
  EXPECT_TRUE(smaller.conforms(1000, at(5000)));
}

TEST(Queue, DelayEmergesAndComesBeforeTheFibres) {
  auto config = test::stage_rule();
  config.queue = QueueConfig{.rate_bps = 1e9, .buffer_bytes = 2000, .overhead = 24};
  config.delay = Duration{1'000'000};
  Rule rule = test::rule_of(config);
  EXPECT_EQ(test::decide(rule, test::bare_arrival(0, at(0), 976)).release, at(1'008'000));
  EXPECT_EQ(test::decide(rule, test::bare_arrival(1, at(0), 976)).release, at(1'016'000));
  const Decision third = test::decide(rule, test::bare_arrival(2, at(0), 976));
  EXPECT_EQ(third.action, Action::drop);
  EXPECT_EQ(third.stage, Stage::queue);
  EXPECT_EQ(rule.stats().tail_dropped, 1U);
  EXPECT_EQ(rule.stats().peak_queue_bytes, 1952U);
}

TEST(Duplicate, MakesCopiesOfItsShare) {
  auto config = test::stage_rule();
  config.duplicate = DuplicateConfig{0.05, 3};
  Rule rule = test::rule_of(config);
  std::uint64_t hit = 0;
  for (std::uint64_t i = 0; i < kManyFrames; ++i) {
    const auto copies = test::decide(rule, test::bare_arrival(i)).copies;
    ASSERT_TRUE(copies == 0 || copies == 3);
    hit += copies / 3U;
  }
  const auto n = static_cast<double>(kManyFrames);
  EXPECT_NEAR(static_cast<double>(hit), n * 0.05, 4.5 * std::sqrt(n * 0.05 * 0.95));
}

/// Each copy is on its own behind: here each draws its own jitter.
TEST(Duplicate, CopiesGoThroughTheStagesBehindByThemselves) {
  auto config = test::stage_rule();
  config.duplicate = DuplicateConfig{1, 2};
  config.jitter = JitterConfig{UniformDelay{0, 1e6}, {}};
  config.keep_order = false;
  Rule rule = test::rule_of(config);
  const auto arrival = test::bare_arrival(0);
  const Decision original = test::decide(rule, arrival);
  const Decision first = rule.decide_copy(arrival, original, 1);
  const Decision second = rule.decide_copy(arrival, original, 2);
  EXPECT_NE(original.release, first.release);
  EXPECT_NE(first.release, second.release);
  EXPECT_TRUE(first.acted.has(Stage::duplicate));
  EXPECT_EQ(rule.stats().by(Stage::duplicate), 1U);
  EXPECT_EQ(rule.stats().by(Stage::delay), 3U);
}

TEST(Reorder, HoldsItsShareBackByATime) {
  auto config = test::stage_rule();
  config.delay = Duration{1000};
  config.reorder = ReorderConfig{.fraction = 0.1, .by = Duration{700}};
  Rule rule = test::rule_of(config);
  std::uint64_t held = 0;
  for (std::uint64_t i = 0; i < kManyFrames; ++i) {
    const Instant now = at(static_cast<std::int64_t>(i));
    const Decision decision = test::decide(rule, test::bare_arrival(i, now));
    const bool late = decision.release == now + Duration{1700};
    ASSERT_TRUE(late || decision.release == now + Duration{1000});
    ASSERT_EQ(decision.acted.has(Stage::reorder), late);
    held += late ? 1U : 0U;
  }
  const auto n = static_cast<double>(kManyFrames);
  EXPECT_NEAR(static_cast<double>(held), n * 0.1, 4.5 * std::sqrt(n * 0.09));
}

/// The rule of sch_netem.c: of the frames from the gap-th after the last one that went ahead on,
/// each goes ahead with the probability.
TEST(Reorder, SendsItsShareAheadAsNetemDoes) {
  auto config = test::stage_rule();
  config.delay = Duration{1000};
  for (const std::uint32_t gap : {1U, 5U}) {
    config.reorder = ReorderConfig{.fraction = 0.25, .gap = gap};
    Rule rule = test::rule_of(config);
    std::uint64_t ahead = 0, since = 0, drawn = 0;
    for (std::uint64_t i = 0; i < kManyFrames; ++i) {
      const Instant now = at(static_cast<std::int64_t>(i));
      const Decision decision = test::decide(rule, test::bare_arrival(i, now));
      const bool at_once = decision.release == now;
      ASSERT_TRUE(at_once || decision.release == now + Duration{1000});
      ASSERT_EQ(decision.acted.has(Stage::reorder), at_once);
      ASSERT_TRUE(!at_once || since >= gap - 1) << i;
      drawn += since >= gap - 1 ? 1U : 0U;
      since = at_once ? 0 : since + 1;
      ahead += at_once ? 1U : 0U;
    }
    const auto n = static_cast<double>(drawn);
    EXPECT_NEAR(static_cast<double>(ahead), n * 0.25, 4.5 * std::sqrt(n * 0.1875));
  }
}

/// Which of these frames, one each 100 ns from 5 us on, a rule with a loss of 1 loses.
std::vector<std::uint64_t> lost_at(const When& when, std::uint64_t frames,
                                   std::uint64_t first = 0) {
  auto config = test::stage_rule();
  config.delay = Duration{1000};
  config.loss = 1.0;
  config.when.of[Stages::index_of<Loss>()] = when;
  Rule rule = test::rule_of(config);
  std::vector<std::uint64_t> lost;
  for (std::uint64_t i = 0; i < frames; ++i) {
    const auto arrival =
        test::bare_arrival(first + i, at(5000 + static_cast<std::int64_t>(i) * 100));
    if (test::decide(rule, arrival).action == Action::drop) lost.push_back(first + i);
  }
  return lost;
}

TEST(When, AStageActsInItsTimesSinceTheFirstFrame) {
  using Lost = std::vector<std::uint64_t>;
  EXPECT_EQ(lost_at({.begin = 0, .length = 200, .period = 500}, 12), (Lost{0, 1, 5, 6, 10, 11}));
  EXPECT_EQ(lost_at({.begin = 300, .length = 200, .period = 500}, 12), (Lost{3, 4, 8, 9}));
  EXPECT_EQ(lost_at({.begin = 300, .length = 200}, 12), (Lost{3, 4}));
  EXPECT_EQ(lost_at({.begin = 250, .length = 1}, 12), Lost{});
}

TEST(When, OrAtItsFramesByTheirNumbers) {
  using Lost = std::vector<std::uint64_t>;
  EXPECT_EQ(lost_at({.by_frames = true, .begin = 102, .length = 1, .period = 4}, 8, 100),
            (Lost{102, 106}));
  EXPECT_EQ(lost_at({.by_frames = true, .begin = 102, .length = 3}, 8, 100), (Lost{102, 103, 104}));
}

TEST(When, ADelayThatPausesKeepsTheOrderUnlessItMayGo) {
  for (const bool keep : {true, false}) {
    auto config = test::stage_rule();
    config.delay = Duration{1000};
    config.keep_order = keep;
    config.when.of[Stages::index_of<Delay>()] = When{.length = 100};
    Rule rule = test::rule_of(config);
    EXPECT_EQ(test::decide(rule, test::bare_arrival(0, at(0))).release, at(1000));
    EXPECT_EQ(test::decide(rule, test::bare_arrival(1, at(200))).release, at(keep ? 1000 : 200));
    EXPECT_EQ(test::decide(rule, test::bare_arrival(2, at(1200))).release, at(1200));
  }
}

TEST(When, TheAuditIsOfTheFramesThatMetTheStage) {
  auto config = test::stage_rule();
  config.delay = Duration{1000};
  config.loss = 0.5;
  config.when.of[Stages::index_of<Loss>()] = When{.by_frames = true, .length = 10, .period = 100};
  Rule rule = test::rule_of(config);
  for (std::uint64_t i = 0; i < 100'000; ++i)
    static_cast<void>(test::decide(rule, test::bare_arrival(i)));
  const auto checks = audit(config, rule.stats());
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].frames, 10'000U);
  EXPECT_TRUE(checks[0].holds()) << checks[0].seen;
}

TEST(Trace, EachRowHoldsUntilTheNext) {
  auto config = test::stage_rule();
  config.delay = Duration{50};
  config.queue = QueueConfig{.rate_bps = 8e9, .buffer_bytes = 100'000, .overhead = 0};
  config.trace = TraceConfig{{{Duration{0}, Duration{100}, 0.0, 8e9},
                              {Duration{10'000}, std::nullopt, 1.0, std::nullopt},
                              {Duration{20'000}, Duration{300}, 0.0, 4e9}},
                             Duration{30'000}};
  Rule rule = test::rule_of(config);
  std::uint64_t number = 0;
  const auto decide = [&](std::int64_t ns) {
    return test::decide(rule, test::bare_arrival(number++, at(ns), 1000));
  };
  const std::int64_t begin = 7'000'000;
  EXPECT_EQ(decide(begin).release, at(begin + 1000 + 100));
  EXPECT_EQ(decide(begin + 9'999).release, at(begin + 9'999 + 1000 + 100));
  EXPECT_EQ(decide(begin + 10'000).action, Action::drop);
  EXPECT_EQ(decide(begin + 20'000).release, at(begin + 20'000 + 2000 + 300));
  EXPECT_EQ(decide(begin + 30'000).release, at(begin + 30'000 + 1000 + 100));
  EXPECT_EQ(decide(begin + 100'000).action, Action::drop);
}

TEST(EventActions, ComesOnTopOfWhatTheRuleDoes) {
  auto config = test::stage_rule();
  config.delay = Duration{1000};
  Rule rule = test::rule_of(config);
  const Decision dropped = test::decide(rule, test::bare_arrival(0), {.drop = true});
  EXPECT_EQ(dropped.action, Action::drop);
  EXPECT_EQ(dropped.stage, Stage::event);
  const Decision changed =
      test::decide(rule, test::bare_arrival(1),
                   {.mark = true, .corrupt = true, .copies = 2, .delay = Duration{500}});
  EXPECT_TRUE(changed.mark && changed.corrupt);
  EXPECT_EQ(changed.copies, 2);
  EXPECT_EQ(changed.release, at(1500));
  EXPECT_EQ(changed.line, kWheel);
  EXPECT_EQ(test::decide(rule, test::bare_arrival(2)).release, at(1000));
}

/// The same frames at the same times meet the same fate, whatever else was decided before.
TEST(Rule, DecidesTheSameForTheSameFramesAndTimes) {
  auto config = test::stage_rule();
  config.police = PoliceConfig{.rate_bps = 9e9, .burst_bytes = 20'000, .overhead = 24};
  config.loss = GilbertElliott{.p = 0.01, .r = 0.2};
  config.corrupt = CorruptConfig{.probability = 0.01};
  config.duplicate = DuplicateConfig{0.01, 1};
  config.queue = QueueConfig{.rate_bps = 8e9, .buffer_bytes = 50'000, .overhead = 24};
  config.delay = Duration{100'000};
  config.jitter = JitterConfig{GammaDelay{2, 1000}, Duration{50'000}};
  config.reorder = ReorderConfig{.fraction = 0.01, .frames = 3};
  const auto releases = [&] {
    Rule rule = test::rule_of(config, 9);
    std::vector<Instant> all;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      const Instant now = at(static_cast<std::int64_t>(i * 900 + i * i % 700));
      all.push_back(test::decide(rule, test::bare_arrival(i, now)).release);
    }
    return all;
  };
  EXPECT_EQ(releases(), releases());
}

/// The manual's table of stages, as the list of stages gives it.
std::string table_of_stages() {
  std::string table;
  int place = 0;
  Stages::for_each([&]<class S>() {
    std::string number = "none";
    if constexpr (S::kHooks.has(Hook::number))
      number = std::to_string(static_cast<int>(S::kNumber));
    table += "| " + std::to_string(++place) + " | " + std::string(S::kName) + " | " + number +
             " | " + (S::kActsOnBatch ? "yes" : "no") + " |\n";
  });
  return table;
}

/// "bit 1 event, 2 outage, ...", by number, of the stages that have one.
std::string numbers_of_stages() {
  std::map<int, std::string_view> names;
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::number)) names[static_cast<int>(S::kNumber)] = S::kName;
  });
  std::string words;
  for (const auto& [number, name] : names) {
    words += (words.empty() ? "bit " : ", ") + std::to_string(number) + " " + std::string(name);
  }
  return words;
}

std::string page_of_the_manual(const std::string& name) {
  std::ifstream file(std::string(std::getenv("LONGWIRE_SOURCE")) + "/docs/reference/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Stages, TheManualsTableIsThatOfTheList) {
  EXPECT_THAT(page_of_the_manual("impair-stages.md"), testing::HasSubstr(table_of_stages()));
  EXPECT_THAT(page_of_the_manual("ledger.md"), testing::HasSubstr(numbers_of_stages()));
}

}  // namespace stages_test
}  // namespace lw::emulator
