// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/link.h"
#include "emulator/stats/audit.h"
#include "support/path_frames.h"

namespace lw::emulator {
namespace link_replace_test {

using test::Exit;
using testing::ElementsAre;

constexpr Direction kEast = Direction::west_to_east;
const std::vector<std::byte> kRoce = test::roce_frame(0x11, 7);
const std::vector<std::byte> kOther = test::other_frame();

Instant at(std::int64_t ns) { return instant_from_ns(ns); }

RuleConfig rule(std::string name, std::int64_t delay_ns, double loss = 0) {
  RuleConfig config;
  config.name = std::move(name);
  config.loss = loss;
  config.delay = Duration{delay_ns};
  return config;
}

Pipeline pipeline(const std::vector<RuleConfig>& rules,
                  const std::vector<std::string>& known = {}) {
  return {kEast, 1, rules, {}, known};
}

/// Lets out what is due, then puts these rules in force.
template <class Run>
void replace(Run& run, Link<int>& link, const std::vector<RuleConfig>& rules, std::int64_t ns) {
  Link<int>::PreparedPipeline next(pipeline(rules, link.pipeline().rule_names()));
  run.advance(at(ns));
  link.replace(next, at(ns));
}

/// Frames 1 and 2 come at 0 and 10 under the first rule, those behind them when `later` says, under
/// the second one, which is in force from 20 on.
std::vector<Exit> across_a_change(const RuleConfig& first, const RuleConfig& second,
                                  const std::vector<std::int64_t>& later) {
  Link<int> link(pipeline({first}), {});
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  EXPECT_TRUE(run.admit(2, kRoce, at(10)));
  replace(run, link, {second}, 20);
  int frame = 2;
  for (const std::int64_t ns : later) EXPECT_TRUE(run.admit(++frame, kRoce, at(ns)));
  run.finish();
  return run.exits();
}

/// A rule that shares the queue of rule "a": 1 B/ns, frames of `kRoce`'s length.
RuleConfig sharing(std::string name, MatchedFrames frames, std::uint32_t cls,
                   std::int64_t delay_ns) {
  RuleConfig config = rule(std::move(name), delay_ns);
  config.match = frames;
  config.shared = QueueUse{.owner = "a",
                           .cls = cls,
                           .queue = {.rate_bps = 8'000'000'000,
                                     .buffer_bytes = 100'000,
                                     .cost = {.overhead = 0},
                                     .classes = {{}, {.order = {1, 1}}}},
                           .pauses = {}};
  return config;
}

/// Of two rules that share a queue, one is removed: its frames leave as they would have, and those
/// of the other rule, of a lower priority, wait for them.
TEST(LinkReplace, FramesOfARuleThatLeavesASharedQueueKeepTheirPlaces) {
  const auto size = static_cast<std::int64_t>(kRoce.size());
  const RuleConfig low = sharing("a", MatchedFrames::rocev2, 0, 1000),
                   high = sharing("b", MatchedFrames::everything, 1, 5000);
  for (const bool removed : {false, true}) {
    Link<int> link(pipeline({low, high}), {});
    test::VirtualRun run(link);
    EXPECT_TRUE(run.admit(1, kRoce, at(0)));
    EXPECT_TRUE(run.admit(2, kRoce, at(1)));
    EXPECT_TRUE(run.admit(3, kOther, at(2)));
    if (removed) replace(run, link, {low}, 10);
    EXPECT_TRUE(run.admit(4, kRoce, at(20)));
    run.finish();
    const std::int64_t other = static_cast<std::int64_t>(std::max<std::size_t>(60, kOther.size()));
    EXPECT_THAT(
        run.exits(),
        ElementsAre(Exit{1, at(size + 1000)}, Exit{2, at(2 * size + other + 1000)},
                    Exit{4, at(3 * size + other + 1000)}, Exit{3, at(size + other + 5000)}));
    EXPECT_TRUE(link.accounting().holds());
  }
}

/// A frame for which the link has no room keeps its place in a shared queue: a later frame leaves
/// after it, not before it came.
TEST(LinkReplace, AFrameWithoutRoomKeepsItsPlaceInASharedQueue) {
  const auto size = static_cast<std::int64_t>(kRoce.size());
  Link<int> link(pipeline({sharing("a", MatchedFrames::rocev2, 0, 0)}), {.capacity = 1});
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  EXPECT_FALSE(run.admit(2, kRoce, at(0)));
  EXPECT_TRUE(run.admit(3, kRoce, at(3 * size)));
  run.finish();
  EXPECT_THAT(run.exits(), ElementsAre(Exit{1, at(size)}, Exit{3, at(4 * size)}));
  EXPECT_TRUE(link.accounting().holds());
}

/// A faster link, from the change on, for all classes.
TEST(LinkReplace, AChangedRateActsOnASharedQueue) {
  const auto size = static_cast<std::int64_t>(kRoce.size());
  RuleConfig low = sharing("a", MatchedFrames::rocev2, 0, 1000);
  Link<int> link(pipeline({low}), {});
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  EXPECT_TRUE(run.admit(2, kRoce, at(0)));
  low.shared->queue.rate_bps *= 2;
  replace(run, link, {low}, 10);
  run.finish();
  const std::int64_t first = 10 + (size - 10 + 1) / 2;
  EXPECT_THAT(run.exits(), ElementsAre(Exit{1, at(first + 1000)},
                                       Exit{2, at((20 + 2 * size - 10 + 1) / 2 + 1000)}));
}

/// The counts of a shared queue begin anew when one of its rules changes, those of a row of another
/// rule's trace do not: its audit holds nevertheless.
TEST(LinkReplace, AChangedRuleLeavesTheAuditOfAnotherOfItsQueue) {
  RuleConfig changed = sharing("a", MatchedFrames::rocev2, 0, 1000);
  RuleConfig traced = sharing("b", MatchedFrames::everything, 1, 0);
  traced.delay.reset();
  traced.trace = TraceConfig{.rows = {{Duration{0}, Duration{10}, {}, {}}}, .period = {}};
  Link<int> link(pipeline({changed, traced}), {});
  test::VirtualRun run(link);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(run.admit(i, kOther, at(i)));
  changed.delay = Duration{2000};
  replace(run, link, {changed, traced}, 5000);
  run.finish();
  const std::vector<Check> checks = audit(traced, link.pipeline().rules()[1].stats());
  EXPECT_FALSE(checks.empty());
  for (const Check& check : checks) EXPECT_TRUE(check.holds()) << check.what << " " << check.seen;
}

TEST(LinkReplace, WhatIsInsideKeepsItsRelease) {
  Link<int> link(pipeline({rule("r", 1000)}), {});
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  replace(run, link, {rule("r", 5000)}, 100);
  EXPECT_TRUE(run.admit(2, kRoce, at(200)));
  run.finish();
  EXPECT_THAT(run.exits(), ElementsAre(Exit{1, at(1000)}, Exit{2, at(5200)}));
  EXPECT_TRUE(link.accounting().holds());
}

/// A shorter delay doesn't reorder: frames wait for those before them, unless order may go.
TEST(LinkReplace, AShorterDelayKeepsTheOrderThatWasAskedFor) {
  for (const bool keep : {true, false}) {
    auto first = rule("r", 1000), second = rule("r", 100);
    first.keep_order = second.keep_order = keep;
    const auto exits = across_a_change(first, second, {30, 40, 2000});
    if (keep) {
      EXPECT_THAT(exits, ElementsAre(Exit{1, at(1000)}, Exit{2, at(1010)}, Exit{3, at(1011)},
                                     Exit{4, at(1011)}, Exit{5, at(2100)}));
    } else {
      EXPECT_THAT(exits, ElementsAre(Exit{3, at(130)}, Exit{4, at(140)}, Exit{1, at(1000)},
                                     Exit{2, at(1010)}, Exit{5, at(2100)}));
    }
  }
}

/// Order is kept with those that are before a frame, not with those that might have been.
TEST(LinkReplace, AShorterDelayHoldsWhereNobodyIsBefore) {
  Link<int> link(pipeline({rule("r", 1000)}), {});
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  replace(run, link, {rule("r", 100)}, 800);
  EXPECT_TRUE(run.admit(2, kRoce, at(850)));
  EXPECT_TRUE(run.admit(3, kRoce, at(950)));
  run.finish();
  EXPECT_THAT(run.exits(), ElementsAre(Exit{1, at(1000)}, Exit{2, at(1001)}, Exit{3, at(1050)}));
}

TEST(LinkReplace, WithoutADelayAnyMoreNobodyIsOvertaken) {
  auto bare = rule("r", 0);
  bare.delay.reset();
  auto corrupting = bare;
  corrupting.corrupt = CorruptConfig{.probability = 1e-9};
  for (const RuleConfig& second : {bare, corrupting})
    EXPECT_THAT(across_a_change(rule("r", 1000), second, {30, 1005, 1020}),
                ElementsAre(Exit{1, at(1000)}, Exit{2, at(1010)}, Exit{3, at(1011)},
                            Exit{4, at(1011)}, Exit{5, at(1020)}));
}

/// Each change puts frames a nanosecond behind the last one.
TEST(LinkReplace, ADelayThatGoesAndComesOvertakesNobody) {
  auto bare = rule("r", 0);
  bare.delay.reset();
  Link<int> link(pipeline({rule("r", 1000)}), {});
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  replace(run, link, {bare}, 20);
  replace(run, link, {rule("r", 10)}, 30);
  EXPECT_TRUE(run.admit(2, kRoce, at(40)));
  run.finish();
  EXPECT_THAT(run.exits(), ElementsAre(Exit{1, at(1000)}, Exit{2, at(1002)}));
}

TEST(LinkReplace, RulesComeAndGoAndAreAccountedForByName) {
  Link<int> link(pipeline({rule("a", 1000)}), {});
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  replace(run, link, {rule("b", 500)}, 10);
  EXPECT_TRUE(run.admit(2, kRoce, at(20)));
  replace(run, link, {rule("c", 10), rule("a", 10)}, 30);
  EXPECT_TRUE(run.admit(3, kRoce, at(40)));
  const Accounting accounting = link.accounting();
  EXPECT_TRUE(accounting.holds());
  ASSERT_EQ(accounting.rules.size(), 4U);
  const char* const names[] = {"a", "b", "c", "untouched"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(accounting.rules[i].name, names[i]);
    EXPECT_EQ(accounting.rules[i].received.frames, i < 3 ? 1U : 0U);
    EXPECT_EQ(accounting.rules[i].in_flight.frames, i < 3 ? 1U : 0U);
    EXPECT_EQ(link.running_accounting().rules[i].in_flight, accounting.rules[i].in_flight);
  }
  run.finish();
  EXPECT_THAT(run.exits(), ElementsAre(Exit{3, at(50)}, Exit{2, at(520)}, Exit{1, at(1000)}));
  EXPECT_TRUE(link.accounting().holds());
}

/// Which frames a rule loses, with and without another rule being changed all the time.
TEST(LinkReplace, DrawsOfUntouchedRulesDontMove) {
  const auto lost = [](bool changing) {
    auto bursty = rule("bursty", 100);
    bursty.loss = GilbertElliott{.p = 0.05, .r = 0.2};
    auto other = rule("other", 50, 0.5);
    other.match = MatchedFrames::everything;
    Link<int> link(pipeline({bursty, other}), {});
    test::VirtualRun run(link);
    std::vector<int> gone;
    for (int i = 0; i < 5000; ++i) {
      if (changing && i % 7 == 3) {
        other.loss = i % 2 ? 0.1 : 0.9;
        replace(run, link, {bursty, other}, i * 10);
      }
      if (!run.admit(i, kRoce, at(i * 10))) gone.push_back(i);
      (void)run.admit(-1, kOther, at(i * 10));
    }
    return gone;
  };
  const auto still = lost(false);
  EXPECT_GT(still.size(), 500U);
  EXPECT_EQ(lost(true), still);
}

TEST(LinkReplace, FramesHeldBackGoOnWhenNobodyWillOvertakeThem) {
  auto held = rule("r", 100);
  held.reorder = ReorderConfig{.fraction = 1, .frames = 3};
  Link<int> link(pipeline({held}), {});
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  replace(run, link, {rule("r", 100)}, 10);
  EXPECT_TRUE(run.admit(2, kRoce, at(20)));
  EXPECT_TRUE(link.accounting().holds());
  run.finish();
  EXPECT_THAT(run.exits(), ElementsAre(Exit{1, at(100)}, Exit{2, at(120)}));
}

/// A configuration for each frame, and none is lost, doubled or out of order.
TEST(LinkReplace, AMillionSwapsLoseNoFrame) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr int kSwaps = 20'000;
#else
  constexpr int kSwaps = 1'000'000;
#endif
  const auto version = [](int i) { return pipeline({rule("r", 1000 + i * 333 % 1000)}); };
  Link<int> link(version(0), {.capacity = 4096});
  std::vector<Link<int>::PreparedPipeline> standbys;
  for (int i = 0; i < 8; ++i) standbys.emplace_back(version(i));
  int next_out = 0;
  const auto let_out = [&](Instant now) {
    link.release(now);
    for (auto out = link.egress(); !out.empty(); out = link.egress()) {
      for (const int handle : out) ASSERT_EQ(handle, next_out++);
      link.sent(out.size(), now);
    }
  };
  const roce::Envelope envelope = roce::open_envelope(kRoce);
  for (int i = 0; i < kSwaps; ++i) {
    const Instant now = at(i * 10LL);
    let_out(now);
    link.replace(standbys[std::size_t(i) % 8], now);
    ASSERT_TRUE(link.admit(i, envelope, now));
  }
  EXPECT_GT(link.inside(), 50U);
  EXPECT_TRUE(link.accounting().holds());
  let_out(at(kSwaps * 10LL + 10'000));
  EXPECT_EQ(next_out, kSwaps);
  EXPECT_TRUE(link.accounting().holds());
}

}  // namespace link_replace_test
}  // namespace lw::emulator
