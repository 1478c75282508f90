// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/path_frames.h"

namespace lw::emulator {
namespace link_test {

using test::Exit;
using testing::ElementsAre;

const std::vector<std::byte> kRoce = test::roce_frame(0x11, 7);
const std::vector<std::byte> kOther = test::other_frame();

Instant at(std::int64_t ns) { return instant_from_ns(ns); }

RuleConfig rule(std::optional<std::int64_t> delay_ns, double loss = 0) {
  RuleConfig config;
  config.name = "r";
  config.loss = loss;
  if (delay_ns) config.delay = Duration{*delay_ns};
  return config;
}

Pipeline pipeline(const std::vector<RuleConfig>& rules) {
  return Pipeline(Direction::west_to_east, 1, rules);
}

TEST(Link, DelayIsExactAndOrderIsKept) {
  Link<int> link(pipeline({rule(1000)}), {});
  test::VirtualRun run(link);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(run.admit(i, kRoce, at(i * 7)));
  run.finish();
  ASSERT_EQ(run.exits().size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(run.exits()[std::size_t(i)], (Exit{i, at(i * 7 + 1000)}));
  EXPECT_EQ(link.release_error().maximum(), 0);
  EXPECT_EQ(link.release_error().count(), 100U);
  EXPECT_EQ(link.delay().count(), 100U);
  EXPECT_EQ(link.delay().minimum(), 1000);
  EXPECT_EQ(link.delay().maximum(), 1000);
}

TEST(Link, UntouchedFramesOvertakeDelayedOnesAtOnce) {
  Link<int> link(pipeline({rule(1000)}), {});
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  EXPECT_TRUE(run.admit(2, kOther, at(10)));
  run.finish();
  EXPECT_THAT(run.exits(), ElementsAre(Exit{2, at(10)}, Exit{1, at(1000)}));
  EXPECT_EQ(link.pass_latency().count(), 1U);
}

TEST(Link, NothingLeavesBeforeItIsDue) {
  Link<int> link(pipeline({rule(1000)}), {});
  EXPECT_TRUE(link.admit(1, roce::open_envelope(kRoce), at(5)));
  link.release(at(1004));
  EXPECT_TRUE(link.egress().empty());
  EXPECT_EQ(link.next_release(), at(1005));
  link.release(at(1005));
  EXPECT_EQ(link.egress().size(), 1U);
}

TEST(Link, TwoDelaysInterleaveByTheirReleases) {
  auto all = rule(50);
  all.name = "all";
  all.match = MatchedFrames::everything;
  Link<int> link(pipeline({rule(1000), all}), {});
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  EXPECT_TRUE(run.admit(2, kOther, at(900)));
  EXPECT_TRUE(run.admit(3, kOther, at(960)));
  run.finish();
  EXPECT_THAT(run.exits(), ElementsAre(Exit{2, at(950)}, Exit{1, at(1000)}, Exit{3, at(1010)}));
}

TEST(Link, AFullQueueRefusesCountsAndDisturbsNobody) {
  Link<int> link(pipeline({rule(1000)}), {.capacity = 10});
  test::VirtualRun run(link);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(run.admit(i, kRoce, at(i)), i < 10);
  EXPECT_TRUE(run.admit(99, kOther, at(20)));
  const Accounting accounting = link.accounting();
  EXPECT_EQ(accounting.direction.dropped_for_resource[std::size_t(ResourceDrop::no_room)].frames,
            5U);
  EXPECT_EQ(accounting.direction.in_flight.frames, 10U);
  EXPECT_TRUE(accounting.holds());
  run.finish();
  ASSERT_EQ(run.exits().size(), 11U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(run.exits()[std::size_t(i) + 1], (Exit{i, at(i + 1000)}));
}

TEST(Link, ABlockedWayOutHoldsFramesBackAndThenRefuses) {
  Link<int> link(pipeline({rule(10)}), {.capacity = 100, .egress_capacity = 4});
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(link.admit(i, roce::open_envelope(kRoce), at(0)));
  link.release(at(100));
  EXPECT_EQ(link.egress_room(), 0U);
  EXPECT_EQ(link.inside(), 8U);
  EXPECT_FALSE(link.admit(9, roce::open_envelope(kOther), at(100)));
  EXPECT_EQ(link.accounting()
                .direction.dropped_for_resource[std::size_t(ResourceDrop::egress_full)]
                .frames,
            1U);
  EXPECT_TRUE(link.accounting().holds());
  link.sent(link.egress().size(), at(100));
  link.release(at(100));
  EXPECT_THAT(std::vector<int>(link.egress().begin(), link.egress().end()),
              ElementsAre(4, 5, 6, 7));
}

TEST(Link, ReleasesLeaveRoomForABurstThatWasTakenAlready) {
  Link<int> link(pipeline({rule(10)}), {.capacity = 100, .egress_capacity = 4});
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(link.admit(i, roce::open_envelope(kRoce), at(0)));
  link.release(at(100), 3);
  EXPECT_EQ(link.egress_room(), 3U);
  for (int i = 10; i < 13; ++i) EXPECT_TRUE(link.admit(i, roce::open_envelope(kOther), at(100)));
  EXPECT_THAT(std::vector<int>(link.egress().begin(), link.egress().end()),
              ElementsAre(0, 10, 11, 12));
}

TEST(Link, BooksPerRuleAndOfWhatNoRuleMatched) {
  Link<int> link(pipeline({rule(10, 1.0)}), {});
  EXPECT_FALSE(link.admit(1, roce::open_envelope(kRoce), at(0)));
  EXPECT_TRUE(link.admit(2, roce::open_envelope(kOther), at(0)));
  const Accounting accounting = link.accounting();
  ASSERT_EQ(accounting.rules.size(), 2U);
  EXPECT_EQ(accounting.rules[0].name, "r");
  EXPECT_EQ(accounting.rules[0].dropped_by_rule, (Amount{1, kRoce.size()}));
  EXPECT_EQ(accounting.rules[1].in_flight, (Amount{1, kOther.size()}));
  EXPECT_EQ(accounting.direction.received, (Amount{2, kRoce.size() + kOther.size()}));
  EXPECT_TRUE(accounting.holds());
}

TEST(Link, FragmentsAndTruncatedHeadersPassAndAreCounted) {
  auto fragment = kRoce;
  fragment[14 + 6] = std::byte{0x20};
  const std::span cut = std::span(kRoce).first(14 + 20 + 8 + 11);
  Link<int> link(pipeline({rule(10, 1.0)}), {});
  EXPECT_TRUE(link.admit(1, roce::open_envelope(fragment), at(0)));
  EXPECT_TRUE(link.admit(2, roce::open_envelope(cut), at(0)));
  EXPECT_EQ(link.accounting().fragments, 1U);
  EXPECT_EQ(link.accounting().truncated, 1U);
  for (const std::size_t within_ip_or_udp : {14U, 14U + 19, 14U + 20, 14U + 20 + 7})
    EXPECT_TRUE(
        link.admit(3, roce::open_envelope(std::span(kRoce).first(within_ip_or_udp)), at(0)));
  EXPECT_EQ(link.accounting().truncated, 5U);
  EXPECT_TRUE(link.admit(4, roce::open_envelope(kOther), at(0)));
  EXPECT_EQ(link.accounting().truncated, 5U);
  auto ends_too_soon = kRoce;  // by the UDP length
  ends_too_soon[14 + 20 + 4] = std::byte{0};
  ends_too_soon[14 + 20 + 5] = std::byte{8 + 12 + 3};
  EXPECT_TRUE(link.admit(5, roce::open_envelope(ends_too_soon), at(0)));
  EXPECT_EQ(link.accounting().truncated, 6U);
  EXPECT_EQ(link.accounting().rules[0].received.frames, 0U);
}

TEST(Link, AbandonedFramesComeBackCounted) {
  test::Recorder ledger;
  Link<int> link(pipeline({rule(1000)}), {}, &ledger);
  EXPECT_TRUE(link.admit(1, roce::open_envelope(kRoce), at(0)));
  EXPECT_TRUE(link.admit(2, roce::open_envelope(kOther), at(1)));
  std::vector<int> back;
  link.abandon([](int) { return roce::open_envelope(kRoce); },
               [&](int handle) { back.push_back(handle); });
  link.flush_ledger();
  EXPECT_THAT(back, ElementsAre(2, 1));
  EXPECT_EQ(
      link.accounting().direction.dropped_for_resource[std::size_t(ResourceDrop::stopped)].frames,
      2U);
  EXPECT_EQ(link.inside(), 0U);
  EXPECT_TRUE(link.accounting().holds());
  ASSERT_EQ(ledger.records().size(), 2U);
  EXPECT_EQ(ledger.records()[1].disposition, Disposition::stopped);
  EXPECT_EQ(ledger.records()[1].number, 0U);
}

TEST(Link, BooksThatDoNotAddUpAreCaught) {
  Link<int> link(pipeline({rule(1000)}), {});
  EXPECT_TRUE(link.admit(1, roce::open_envelope(kRoce), at(0)));
  Accounting accounting = link.accounting();
  EXPECT_TRUE(accounting.holds());
  accounting.rules[0].sent.frames += 1;
  EXPECT_FALSE(accounting.holds());
  accounting = link.accounting();
  accounting.direction.received.bytes += 1;
  EXPECT_FALSE(accounting.holds());
}

TEST(Link, HeldFramesLeaveRightBehindTheOnesThatOvertakeThem) {
  auto config = rule(1000);
  config.reorder = ReorderConfig{.fraction = 1, .frames = 1, .swap = true};
  Link<int> link(pipeline({config}), {});
  test::VirtualRun run(link);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(run.admit(i, kRoce, at(i * 10)));
  EXPECT_EQ(link.accounting().direction.in_flight.frames, 6U);
  run.finish();
  EXPECT_THAT(run.exits(), ElementsAre(Exit{1, at(1010)}, Exit{0, at(1010)}, Exit{3, at(1030)},
                                       Exit{2, at(1030)}, Exit{5, at(1050)}, Exit{4, at(1050)}));
}

TEST(Link, FramesSentAheadOvertakeTheOthers) {
  auto config = rule(1000);
  config.reorder = ReorderConfig{.fraction = 1, .gap = 3};
  Link<int> link(pipeline({config}), {});
  test::VirtualRun run(link);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(run.admit(i, kRoce, at(i * 10)));
  run.finish();
  EXPECT_THAT(run.exits(), ElementsAre(Exit{2, at(20)}, Exit{5, at(50)}, Exit{0, at(1000)},
                                       Exit{1, at(1010)}, Exit{3, at(1030)}, Exit{4, at(1040)}));
}

TEST(Link, HeldFramesNobodyOvertakesLeaveAfterAWhile) {
  auto config = rule(1000);
  config.reorder = ReorderConfig{.fraction = 1, .frames = 3, .at_most = Duration{500}};
  test::Recorder ledger;
  Link<int> link(pipeline({config}), {}, &ledger);
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(1, kRoce, at(0)));
  EXPECT_EQ(link.next_release(), at(1500));
  run.finish();
  EXPECT_THAT(run.exits(), ElementsAre(Exit{1, at(1500)}));
  link.flush_ledger();
  ASSERT_EQ(ledger.records().size(), 1U);
  EXPECT_EQ(ledger.records()[0].stage, Stage::reorder);
  EXPECT_EQ(ledger.records()[0].out, at(1500));
}

TEST(Link, CopiesAreCreatedCountedAndNamed) {
  auto config = rule(1000);
  config.duplicate = DuplicateConfig{1, 3};
  auto bytes = kRoce;
  int room = 2;
  test::Recorder ledger;
  Link<int, test::SharedBytes> link(pipeline({config}), {}, &ledger,
                                    test::SharedBytes(bytes, room));
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(7, kRoce, at(0)));
  run.finish();
  ASSERT_EQ(run.exits().size(), 3U);
  EXPECT_EQ(run.exits()[0], (Exit{7, at(1000)}));
  const Accounting accounting = link.accounting();
  EXPECT_EQ(accounting.direction.created.frames, 3U);
  EXPECT_EQ(accounting.direction.dropped_for_resource[std::size_t(ResourceDrop::no_buffer)].frames,
            1U);
  EXPECT_EQ(accounting.rules[0].sent.frames, 3U);
  EXPECT_TRUE(accounting.holds());
  link.flush_ledger();
  ASSERT_EQ(ledger.records().size(), 4U);
  EXPECT_EQ(ledger.records()[0].disposition, Disposition::no_buffer);
  EXPECT_EQ(ledger.records()[0].copy, 3);
  EXPECT_EQ(ledger.records()[1].copy, 0);
  EXPECT_EQ(ledger.records()[1].stage, Stage::duplicate);
  EXPECT_EQ(ledger.records()[2].copy, 1);
}

TEST(Link, WhatIsCorruptedIsLoggedAsItCame) {
  auto config = rule(1000);
  config.corrupt = CorruptConfig{.probability = 1, .bits = 8, .offset = 11};  // the PSN's last byte
  config.duplicate = DuplicateConfig{1, 1};
  auto bytes = kRoce;
  int room = 1;
  test::Recorder ledger;
  Link<int, test::SharedBytes> link(pipeline({config}), {}, &ledger,
                                    test::SharedBytes(bytes, room));
  test::VirtualRun run(link);
  EXPECT_TRUE(run.admit(7, bytes, at(0)));
  run.finish();
  link.flush_ledger();
  ASSERT_EQ(ledger.records().size(), 2U);
  for (const auto& record : ledger.records()) {
    EXPECT_EQ(record.psn, 7U);
    EXPECT_TRUE(record.acted.has(Stage::corrupt));
  }
  EXPECT_EQ(bth_of(roce::open_envelope(bytes))->psn_bytes.get(), 7U ^ 0xff);
}

TEST(Link, AFrameThatMayNotBeChangedIsDroppedForWantOfABuffer) {
  auto config = rule(1000);
  config.mark = MarkConfig{.probability = 1, .force = true};
  Link<int> link(pipeline({config}), {});
  EXPECT_FALSE(link.admit(1, roce::open_envelope(kRoce), at(0)));
  EXPECT_EQ(
      link.accounting().direction.dropped_for_resource[std::size_t(ResourceDrop::no_buffer)].frames,
      1U);
  EXPECT_TRUE(link.accounting().holds());
}

TEST(Link, FreeJitterReordersAndEachLeavesWhenItIsDue) {
  auto config = rule(1000);
  config.jitter = JitterConfig{UniformDelay{0, 5000}, {}};
  config.keep_order = false;
  test::Recorder ledger;
  Link<int> link(pipeline({config}), {}, &ledger);
  test::VirtualRun run(link);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(run.admit(i, kRoce, at(i * 20)));
  run.finish();
  ASSERT_EQ(run.exits().size(), 1000U);
  int overtaken = 0;
  for (std::size_t i = 1; i < 1000; ++i) {
    EXPECT_LE(run.exits()[i - 1].at, run.exits()[i].at);
    overtaken += run.exits()[i].handle < run.exits()[i - 1].handle ? 1 : 0;
  }
  EXPECT_GT(overtaken, 100);
  EXPECT_EQ(link.release_error().maximum(), 0);
}

TEST(Ledger, HoldsWhatWasDroppedAndNothingThatWentItsNominalWay) {
  test::Recorder ledger;
  auto everything = rule(10, 1.0);
  everything.name = "drop all but roce";
  everything.match = MatchedFrames::everything;
  Link<int> link(pipeline({rule(10), everything}), {}, &ledger);
  test::VirtualRun run(link);
  run.admit(0, kRoce, at(5));
  run.admit(1, kOther, at(6));
  run.finish();
  link.flush_ledger();
  ASSERT_EQ(ledger.records().size(), 1U);
  const LedgerRecord& record = ledger.records()[0];
  EXPECT_EQ(record.number, 1U);
  EXPECT_EQ(record.in, at(6));
  EXPECT_EQ(record.rule, 1);
  EXPECT_EQ(record.stage, Stage::loss);
  EXPECT_EQ(record.disposition, Disposition::dropped);
  EXPECT_FALSE(record.roce);
}

TEST(Ledger, AllLogsEveryFrameWithItsTimesAndBth) {
  test::Recorder ledger;
  Link<int> link(pipeline({rule(10)}), {.log_all = true}, &ledger);
  test::VirtualRun run(link);
  run.admit(0, kRoce, at(5));
  run.admit(1, kOther, at(6));
  run.finish();
  link.flush_ledger();
  ASSERT_EQ(ledger.records().size(), 2U);
  const LedgerRecord& other = ledger.records()[0];
  EXPECT_EQ(other.number, 1U);
  EXPECT_EQ(other.disposition, Disposition::passed);
  EXPECT_EQ(other.out, at(6));
  const LedgerRecord& roce = ledger.records()[1];
  EXPECT_EQ(roce.number, 0U);
  EXPECT_EQ(roce.disposition, Disposition::delayed);
  EXPECT_EQ(roce.in, at(5));
  EXPECT_EQ(roce.out, at(15));
  EXPECT_TRUE(roce.roce);
  EXPECT_EQ(roce.opcode, 0x04);
  EXPECT_EQ(roce.qpn, 0x11U);
  EXPECT_EQ(roce.psn, 7U);
}

}  // namespace link_test
}  // namespace lw::emulator
