// SPDX-License-Identifier: BSD-3-Clause
// A path that is out, another one that takes over, and ports whose link is down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/link.h"
#include "support/path_frames.h"

namespace lw::emulator {
namespace outage_test {

using test::Exit;
using testing::ElementsAre;

constexpr Direction kEast = Direction::west_to_east;
const std::vector<std::byte> kRoce = test::roce_frame(0x11, 7);
const std::vector<std::byte> kOther = test::other_frame();

Instant at(std::int64_t ns) { return instant_from_ns(ns); }

RuleConfig by_path(std::int64_t delay_ns, bool outage = false, bool overtakes = false) {
  RuleConfig config;
  config.name = "haul";
  config.delay = Duration{delay_ns};
  config.outage = outage;
  config.overtakes = overtakes;
  return config;
}

/// A switch from a path of 1000 ns to one of 200 ns, out from 100 ns to `back`.
std::vector<Exit> switched(bool overtakes, std::int64_t back) {
  test::Recorder ledger;
  Link<int> link({kEast, 1, std::vector{by_path(1000)}}, {}, &ledger);
  test::VirtualRun run(link);
  const auto replace = [&](const RuleConfig& rule, std::int64_t ns) {
    Link<int>::PreparedPipeline next(
        {kEast, 1, std::vector{rule}, {}, link.pipeline().rule_names()});
    run.advance(at(ns));
    link.replace(next, at(ns));
  };
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  EXPECT_TRUE(run.admit(2, kRoce, at(90)));
  replace(by_path(1000, true), 100);
  EXPECT_FALSE(run.admit(3, kRoce, at(100)));
  EXPECT_TRUE(run.admit(4, kOther, at(100))) << "what doesn't go by the path passes";
  replace(by_path(200, false, overtakes), back);
  EXPECT_TRUE(run.admit(5, kRoce, at(back)));
  run.finish();
  link.flush_ledger();
  const Rule& rule = link.pipeline().rules()[0];
  EXPECT_EQ(rule.totals().by(Stage::outage), 1U);
  EXPECT_EQ(rule.stats().by(Stage::outage), 0U) << "that was another configuration";
  EXPECT_EQ(link.accounting().rules[0].dropped_by_rule.frames, 1U);
  EXPECT_TRUE(link.accounting().holds());
  EXPECT_EQ(ledger.records().front().stage, Stage::outage);
  return run.exits();
}

TEST(Outage, FramesAreLostAndThenTheNewPathsDelayHolds) {
  EXPECT_THAT(switched(false, 5000), ElementsAre(Exit{4, at(100)}, Exit{1, at(1000)},
                                                 Exit{2, at(1090)}, Exit{5, at(5200)}));
}

/// The fibre's light would be there first: order is what the profile says.
TEST(Outage, AShorterPathOvertakesOnlyWhereAsked) {
  EXPECT_THAT(switched(false, 150), ElementsAre(Exit{4, at(100)}, Exit{1, at(1000)},
                                                Exit{2, at(1090)}, Exit{5, at(1092)}));
  EXPECT_THAT(switched(true, 150), ElementsAre(Exit{4, at(100)}, Exit{5, at(350)},
                                               Exit{1, at(1000)}, Exit{2, at(1090)}));
}

TEST(LinkDown, WhatComesInOrIsDueIsCountedAndLogged) {
  test::Recorder ledger;
  Link<int> link({kEast, 1, std::vector{by_path(1000)}}, {}, &ledger);
  const auto envelope = roce::open_envelope(kRoce);
  EXPECT_TRUE(link.admit(1, envelope, at(0)));
  LedgerRecord told;
  link.turn_away(envelope, at(10), &told);
  EXPECT_EQ(told.number, 1U);
  EXPECT_EQ(told.action(), "link_down");
  EXPECT_TRUE(link.admit(2, envelope, at(20)));
  link.release(at(1000));
  std::vector<int> lost;
  link.lose_egress([&](int) { return envelope; }, [&](int handle) { lost.push_back(handle); });
  EXPECT_THAT(lost, ElementsAre(1));
  link.release(at(1020));
  link.sent(link.egress().size(), at(1020));
  link.flush_ledger();
  const Accounting accounting = link.accounting();
  constexpr auto kDown = static_cast<std::size_t>(ResourceDrop::link_down);
  EXPECT_EQ(accounting.direction.dropped_for_resource[kDown].frames, 2U);
  EXPECT_EQ(accounting.rules[0].dropped_for_resource[kDown].frames, 1U);
  EXPECT_EQ(accounting.rules.back().dropped_for_resource[kDown].frames, 1U) << "no rule saw it";
  EXPECT_EQ(accounting.direction.sent.frames, 1U);
  EXPECT_TRUE(accounting.holds());
  ASSERT_EQ(ledger.records().size(), 2U);
  EXPECT_EQ(ledger.records()[0].number, 1U);
  EXPECT_EQ(ledger.records()[1].number, 0U);
  for (const auto& record : ledger.records()) EXPECT_EQ(record.disposition, Disposition::link_down);
}

/// What a caller is told is what the ledger would say.
TEST(Told, IsTheFramesOwnRecord) {
  RuleConfig rule = by_path(1000);
  rule.loss = 0.5;
  test::Recorder ledger;
  Link<int> link({kEast, 1, std::vector{rule}}, {.log_all = true}, &ledger);
  int drops = 0;
  for (int i = 0; i < 50; ++i) {
    LedgerRecord told;
    const bool kept = link.admit(i, roce::open_envelope(kRoce), at(i), &told);
    EXPECT_EQ(told.action(), kept ? "delay" : "drop");
    EXPECT_EQ(told.number, static_cast<std::uint64_t>(i));
    drops += kept ? 0 : 1;
  }
  EXPECT_GT(drops, 10);
}

}  // namespace outage_test
}  // namespace lw::emulator
