// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/change_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "impair/report/report.h"
#include "report/figures/json.h"

namespace lw::impair {
namespace change_log_test {

using testing::ElementsAre;

const config::KeyChange kDelay{"rule", "haul", "delay", "\"1ms\"", "\"2ms\""};
const Effect kEffect{
    .at = instant_from_ns(5000), .zero = instant_from_ns(2000), .first_frames = {7, 3}};

TEST(ChangeLog, HasTheTimeOfCapturesAndTheFirstFrames) {
  ChangeLog log(1'000'000);
  log.add(kEffect, "control, user 0", std::vector{kDelay});
  ASSERT_EQ(log.changes().size(), 1U);
  EXPECT_EQ(report::json_of(log.changes()[0]).dump(),
            R"({"time_ns":1005000,"since_first_frame_ns":3000,"by":"control, user 0",)"
            R"("table":"rule","name":"haul","key":"delay","before":"\"1ms\"","after":"\"2ms\"",)"
            R"("first_frame_west_to_east":7,"first_frame_east_to_west":3})");
}

TEST(ChangeLog, BeforeTheFirstFrameThereIsNoTimeSinceIt) {
  ChangeLog log;
  log.add({.at = instant_from_ns(5), .zero = {}}, "link watch",
          link_changes({.west = true, .up = false}));
  EXPECT_TRUE(report::json_of(log.changes()[0])["since_first_frame_ns"].is_null());
}

TEST(ChangeLog, ListsSoManyAndCountsAndTellsAll) {
  std::size_t told = 0;
  ChangeLog log(0, [&](const Change& /*change*/) { ++told; });
  for (std::size_t i = 0; i < ChangeLog::kMost + 5; ++i)
    log.add(kEffect, "scenario \"ramp\"", std::vector{kDelay});
  EXPECT_EQ(log.changes().size(), ChangeLog::kMost);
  EXPECT_EQ(log.further(), 5U);
  EXPECT_EQ(told, ChangeLog::kMost + 5);
}

TEST(ChangeLog, AReportOfARunListsTheNewest) {
  ChangeLog log;
  for (int i = 0; i < 5; ++i)
    log.add(kEffect, "x", std::vector{config::KeyChange{"", "", "seed", "", std::to_string(i)}});
  Report report{.command = "run", .profile = ""};
  add_changes(report, log, EndedAudits(), 2);
  ASSERT_EQ(report.changes.size(), 2U);
  EXPECT_EQ(report.changes.front().what.after, "3");
  EXPECT_EQ(report.further_changes, 3U);
}

TEST(ChangeLog, AChangeIsALineOfText) {
  std::vector<std::string> lines;
  ChangeLog log(0, [&](const Change& change) { lines.push_back(change_text(change)); });
  log.add(kEffect, "x",
          std::vector{kDelay, {"rule", "haul", "loss", "", "1"}, {"", "", "seed", "1", ""}});
  log.add(kEffect, "x", link_changes({.west = true, .east = true, .up = true}));
  EXPECT_THAT(
      lines, ElementsAre("haul: delay \"1ms\" -> \"2ms\"", "haul: loss none -> 1", "seed 1 -> none",
                         "port west: link down -> up", "port east: link down -> up"));
}

}  // namespace change_log_test
}  // namespace lw::impair
