// SPDX-License-Identifier: BSD-3-Clause
// More comes than there is room for: what finds none is dropped and counted, and the others fare
// as if there were room for all.
#include <algorithm>
#include <array>
#include <map>
#include <span>

#include <gtest/gtest.h>

#include "support/path_frames.h"

namespace lw::emulator {
namespace link_room_test {

constexpr int kFrames = 3000;

struct Outcome {
  std::vector<test::Exit> exits;
  Account account;
};

/// Bursts and pauses: now and then three times as many are inside as a hundred.
Outcome run_with_room_for(std::size_t capacity, const RuleConfig& rule) {
  Link<int> link(Pipeline(Direction::west_to_east, 7, std::span(&rule, 1)), {.capacity = capacity});
  test::VirtualRun run(link);
  const auto frame = test::roce_frame(1, 1, 512);
  const Chance chance(2, 2);
  Instant now = instant_from_ns(1'000'000);
  for (int i = 0; i < kFrames; ++i) {
    now += Duration{chance.bits(static_cast<std::uint64_t>(i / 300)) % 2 ? 100 : 1500};
    (void)run.admit(i, frame, now);
  }
  run.finish();
  EXPECT_TRUE(link.accounting().holds());
  return {run.exits(), link.accounting().direction};
}

void expect_the_others_unharmed(const RuleConfig& rule) {
  const Outcome roomy = run_with_room_for(kFrames, rule), tight = run_with_room_for(100, rule);
  ASSERT_EQ(roomy.exits.size(), static_cast<std::size_t>(kFrames));
  const auto turned_away =
      tight.account.dropped_for_resource[static_cast<std::size_t>(ResourceDrop::no_room)].frames;
  EXPECT_GT(turned_away, 100U);
  EXPECT_LT(turned_away, 2500U);
  EXPECT_EQ(tight.exits.size() + turned_away, static_cast<std::size_t>(kFrames));
  std::map<int, Instant> let_out;
  for (const test::Exit& exit : tight.exits) let_out[exit.handle] = exit.at;
  std::vector<test::Exit> expected;
  for (const test::Exit& exit : roomy.exits)
    if (let_out.contains(exit.handle)) expected.push_back(exit);
  EXPECT_EQ(tight.exits, expected);
}

RuleConfig delayed() {
  RuleConfig rule;
  rule.name = "r";
  rule.delay = Duration{30'000};
  return rule;
}

TEST(WantOfRoom, LeavesAConstantDelayAsItIs) { expect_the_others_unharmed(delayed()); }

TEST(WantOfRoom, LeavesJitterAndOrderAsTheyAre) {
  RuleConfig rule = delayed();
  rule.jitter = JitterConfig{UniformDelay{0, 20'000}, {}};
  expect_the_others_unharmed(rule);
  rule.keep_order = false;
  expect_the_others_unharmed(rule);
  rule.jitter->half_life = Duration{200'000};
  expect_the_others_unharmed(rule);
}

TEST(WantOfRoom, LeavesWhatIsHeldBackByTimeAsItIs) {
  RuleConfig rule = delayed();
  rule.reorder = ReorderConfig{.fraction = 0.1, .by = Duration{9'000}};
  expect_the_others_unharmed(rule);
}

/// What leaves a link, its ledger, and its accounts, if it gets more room after so many frames.
std::pair<std::vector<test::Exit>, std::size_t> run_that_grows(const RuleConfig& rule,
                                                               std::span<const int> at) {
  test::Recorder ledger;
  Link<int> link(Pipeline(Direction::west_to_east, 7, std::span(&rule, 1)),
                 {.capacity = 1024, .log_all = true}, &ledger);
  test::VirtualRun run(link);
  const auto frame = test::roce_frame(1, 1, 512);
  Instant now = instant_from_ns(1'000'000);
  for (int i = 0; i < kFrames; ++i) {
    now += Duration{100};
    if (std::ranges::find(at, i) != at.end()) {
      auto room = link.room_for(1024 + static_cast<std::size_t>(i));
      link.grow(room, {}, now);
    }
    (void)run.admit(i, frame, now);
  }
  run.finish();
  link.flush_ledger();
  EXPECT_TRUE(link.accounting().holds());
  return {run.exits(), ledger.records().size()};
}

TEST(MoreRoom, ChangesNothingOfTheFramesInside) {
  constexpr std::array kTimes = {1, 500, 501, 2'500};
  RuleConfig constant = delayed(), jittered = delayed(), ordered = delayed(), queued = delayed();
  jittered.jitter = JitterConfig{UniformDelay{0, 20'000}, {}};
  ordered.jitter = jittered.jitter;
  jittered.keep_order = false;
  queued.reorder = ReorderConfig{.fraction = 0.1, .by = Duration{9'000}};
  for (const RuleConfig& rule : {constant, jittered, ordered, queued}) {
    const auto grown = run_that_grows(rule, kTimes);
    EXPECT_EQ(grown, run_that_grows(rule, {}));
    EXPECT_EQ(grown.second, static_cast<std::size_t>(kFrames));
  }
}

TEST(MoreRoom, IsForAsManyFramesAsAsked) {
  const RuleConfig rule = delayed();
  Link<int> link(Pipeline(Direction::west_to_east, 7, std::span(&rule, 1)), {.capacity = 100});
  test::VirtualRun run(link);
  const auto frame = test::roce_frame(1, 1, 512);
  const Instant now = instant_from_ns(1'000'000);
  int taken = 0;
  while (run.admit(taken, frame, now)) ++taken;
  EXPECT_EQ(taken, 100);
  auto room = link.room_for(300);
  link.grow(room, {}, now);
  while (run.admit(taken, frame, now)) ++taken;
  EXPECT_EQ(taken, 300);
  run.finish();
  EXPECT_EQ(run.exits().size(), 300U);
}

}  // namespace link_room_test
}  // namespace lw::emulator
