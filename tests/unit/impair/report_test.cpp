// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lw::impair {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Ten frames in: six out, one dropped by the rule, one for want of room, two inside.
Report sound_report() {
  path::Account rule;
  rule.name = "haul";
  rule.received = {10, 1000};
  rule.sent = {6, 600};
  rule.dropped_by_rule = {1, 100};
  rule.dropped_for_want[std::size_t(path::Want::no_room)] = {1, 100};
  rule.in_flight = {2, 200};
  DirectionReport direction;
  direction.books.direction = rule;
  direction.books.direction.name = "west-to-east";
  direction.books.rules = {rule};
  direction.release_error = {6, 1, 2, 3, 4, 5};
  Report report;
  report.command = "run";
  report.profile = "p";
  report.directions = {direction};
  return report;
}

TEST(Report, JsonHoldsTheBooksAndTheVerdict) {
  const auto json = to_json(sound_report());
  EXPECT_EQ(json["identity_holds"], true);
  const auto& east = json["directions"][0];
  EXPECT_EQ(east["name"], "west-to-east");
  EXPECT_EQ(east["received"]["frames"], 10);
  EXPECT_EQ(east["dropped_for_want"]["no_room"]["bytes"], 100);
  EXPECT_EQ(east["in_flight"]["frames"], 2);
  EXPECT_EQ(east["release_error_ns"]["p99.9"], 4);
  EXPECT_EQ(east["rules"][0]["name"], "haul");
}

TEST(Report, BooksThatDoNotAddUpAreNotHidden) {
  Report report = sound_report();
  report.directions[0].books.rules[0].sent.frames = 7;
  EXPECT_FALSE(report.holds());
  EXPECT_EQ(to_json(report)["identity_holds"], false);
  EXPECT_NE(to_text(report), to_text(sound_report()));
}

TEST(Report, TextNamesReasonsThatHappenedAndNoOthers) {
  const std::string text = to_text(sound_report());
  EXPECT_THAT(text, HasSubstr("no_room"));
  EXPECT_THAT(text, Not(HasSubstr("egress_full")));
}

TEST(Report, QuantilesOfAHistogram) {
  Histogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.add(i);
  const Spread spread = spread_of(histogram);
  EXPECT_EQ(spread.count, 1000U);
  EXPECT_EQ(spread.p50, 500);
  EXPECT_EQ(spread.p99, 990);
  EXPECT_EQ(spread.maximum, 1000);
}

}  // namespace
}  // namespace lw::impair
