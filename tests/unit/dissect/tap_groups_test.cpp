// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/points/tap_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::dissect {
namespace {

using testing::ElementsAre;

constexpr TapPairFacts kHalves{.common_addresses = true, .same_time = true, .opposite = true};
constexpr TapPairFacts kParts{.common = 50,
                              .common_addresses = true,
                              .same_time = true,
                              .common_flows = true,
                              .interleaved = true};

TapPairFacts seen_at_both(std::int64_t there_ns, std::optional<std::int64_t> back_ns) {
  TapPairFacts facts = kParts;
  facts.shared = 50;
  facts.later[0] = Duration{there_ns};
  if (back_ns) facts.later[1] = Duration{*back_ns};
  return facts;
}

TEST(TapRelation, OfEachRow) {
  EXPECT_EQ(relation_of({}), TapRelation::unknown);
  EXPECT_EQ(relation_of(kHalves), TapRelation::halves);
  EXPECT_EQ(relation_of(kParts), TapRelation::parts);
  TapPairFacts facts = kParts;
  facts.interleaved = false;  // one capture goes on where the other ended
  EXPECT_EQ(relation_of(facts), TapRelation::unknown);
  facts.common_flows = false;  // each flow has its port
  EXPECT_EQ(relation_of(facts), TapRelation::parts);
  facts.same_time = false;
  EXPECT_EQ(relation_of(facts), TapRelation::unknown);
}

TEST(TapRelation, OfTapsThatSawTheSameFrames) {
  EXPECT_EQ(relation_of(seen_at_both(300, 400)), TapRelation::views);
  EXPECT_EQ(relation_of(seen_at_both(0, 0)), TapRelation::views);
  EXPECT_EQ(relation_of(seen_at_both(300, -400)), TapRelation::own_points);
  EXPECT_EQ(relation_of(seen_at_both(21'000, 300)), TapRelation::own_points);
  EXPECT_EQ(relation_of(seen_at_both(300, std::nullopt)), TapRelation::own_points);
  TapPairFacts few = seen_at_both(9000, 9000);
  few.shared = 12;  // packets that were sent again along the other way
  EXPECT_EQ(relation_of(few), TapRelation::parts);
  few.shared = 13;
  EXPECT_EQ(relation_of(few), TapRelation::views);
}

TEST(TapRelation, RepeatedPacketsTakeAnyWay) {
  TapPairFacts repeated = seen_at_both(9000, 9000);
  repeated.shared = 30;
  repeated.unordered = 8;
  EXPECT_EQ(relation_of(repeated), TapRelation::parts);
  repeated.unordered = 7;  // one tap sees nearly all first
  EXPECT_EQ(relation_of(repeated), TapRelation::views);
  repeated.unordered = 15;
  repeated.shared = 38;
  EXPECT_EQ(relation_of(repeated), TapRelation::views);
}

std::vector<std::vector<std::uint32_t>> groups(const std::vector<Tap>& taps,
                                               const TapPairs& facts) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const TapGroup& group : group_taps(taps, facts, std::vector<bool>(taps.size())))
    all.push_back(group.taps);
  return all;
}

Tap tap(std::string label, std::uint32_t file = 0) {
  return {.label = std::move(label), .file = file, .is_seen = true};
}

using Taps = std::vector<std::uint32_t>;

TEST(TapGroups, OneNameIsOnePointUnlessTheFramesContradict) {
  EXPECT_THAT(groups({tap("eth0"), tap("eth0", 1)}, {}), ElementsAre(Taps{0, 1}));
  EXPECT_THAT(groups({tap("eth0"), tap("eth0", 1)}, {{{0, 1}, seen_at_both(300, -300)}}),
              ElementsAre(Taps{0}, Taps{1}));
  EXPECT_THAT(groups({tap("eth0"), tap("eth1")}, {}), ElementsAre(Taps{0}, Taps{1}));
}

TEST(TapGroups, ATapWithoutFramesIsNoPoint) {
  Tap silent = tap("eth1");
  silent.is_seen = false;
  EXPECT_THAT(groups({tap("eth0"), silent}, {}), ElementsAre(Taps{0}));
}

TEST(TapGroups, ADefinedPointIsNotAsked) {
  Tap west = tap("west"), east = tap("east");
  west.is_defined = east.is_defined = true;
  EXPECT_THAT(groups({west, east}, {{{0, 1}, kHalves}}), ElementsAre(Taps{0}, Taps{1}));
}

/// 0 and 1 send, 2 and 3 receive, at two hosts: 0 and 3, 1 and 2 are each a host's.
TEST(TapGroups, HalvesAreOfTheSameEnd) {
  const TapPairs facts = {
      {{0, 1}, kHalves}, {{0, 2}, seen_at_both(1000, std::nullopt)}, {{0, 3}, kHalves},
      {{1, 2}, kHalves}, {{1, 3}, seen_at_both(1000, std::nullopt)}, {{2, 3}, kHalves}};
  EXPECT_THAT(groups({tap("a"), tap("b"), tap("c"), tap("d")}, facts),
              ElementsAre(Taps{0, 3}, Taps{1, 2}));
}

/// As above, with a clock of 1 and 2 that is ahead by more than the delay.
TEST(TapGroups, AnswersTellHalvesWhereClocksDiffer) {
  const auto answered = [](std::int64_t ns) {
    TapPairFacts facts = kHalves;
    facts.answered[0] = Duration{ns};
    return facts;
  };
  for (const std::int64_t ahead : {5000, -5000}) {
    const TapPairs facts = {{{0, 1}, answered(1100 + ahead)},
                            {{0, 2}, seen_at_both(1000 + ahead, std::nullopt)},
                            {{0, 3}, answered(2100)},
                            {{1, 2}, answered(100)},
                            {{1, 3}, seen_at_both(1000 - ahead, std::nullopt)},
                            {{2, 3}, answered(1100 - ahead)}};
    EXPECT_THAT(groups({tap(""), tap(""), tap(""), tap("")}, facts),
                ElementsAre(Taps{0, 3}, Taps{1, 2}));
  }
}

/// Halves of one point, 1 and 2, and a point with both directions whose clock is behind.
TEST(TapGroups, HalvesOfOneOfTwoPoints) {
  TapPairFacts there = seen_at_both(6000, std::nullopt), back = seen_at_both(0, std::nullopt);
  std::swap(back.later[0], back.later[1]);
  back.later[1] = Duration{4000};
  there.answered[1] = Duration{-3900};
  EXPECT_THAT(
      groups({tap(""), tap(""), tap("")}, {{{0, 1}, there}, {{0, 2}, back}, {{1, 2}, kHalves}}),
      ElementsAre(Taps{0}, Taps{1, 2}));
}

}  // namespace
}  // namespace lw::dissect
