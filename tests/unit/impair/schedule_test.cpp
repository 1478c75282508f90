// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/schedule.h"

#include <gtest/gtest.h>

namespace lw::impair {
namespace schedule_test {

config::ScenarioStep step(int at, const char* act) {
  return {.at = Duration{at}, .act = act, .place = {}};
}

std::vector<std::string> order(Schedule& schedule, std::optional<Instant> zero) {
  std::vector<std::string> acts;
  for (; schedule.next(zero); schedule.pop(zero)) acts.push_back(schedule.next(zero)->step.act);
  return acts;
}

TEST(Schedule, GoesByTimeWhateverTheOrigin) {
  const auto fill = [](Schedule& schedule) {
    schedule.begin(std::vector{step(10, "a"), step(30, "b")});
    schedule.add(std::vector{step(5, "x"), step(30, "y")}, instant_from_ns(100), "control");
    schedule.add(std::vector{step(2, "w")}, instant_from_ns(110), "control");
  };
  Schedule schedule;
  fill(schedule);
  EXPECT_EQ(schedule.next(instant_from_ns(99))->due(instant_from_ns(99)), instant_from_ns(105));
  EXPECT_EQ(order(schedule, instant_from_ns(99)),
            (std::vector<std::string>{"x", "a", "w", "b", "y"}));
  fill(schedule);
  EXPECT_EQ(order(schedule, std::nullopt), (std::vector<std::string>{"x", "w", "y", "a", "b"}))
      << "what waits for time 0 comes last";
}

TEST(Schedule, ALoadedScenarioTakesTheOldOnesPlaceAndBeginsNow) {
  Schedule schedule;
  schedule.begin(std::vector{step(10, "a")});
  schedule.begin(std::vector{step(1, "b")}, instant_from_ns(500));
  ASSERT_EQ(schedule.size(), 1U);
  EXPECT_EQ(schedule.next(std::nullopt)->due(std::nullopt), instant_from_ns(501));
}

TEST(Schedule, NamesTheActsWhoseStepsAreOverdue) {
  Schedule schedule;
  schedule.begin(std::vector{step(10, "a"), step(20, "a"), step(30, "b"), step(40, "a")});
  schedule.add(std::vector{step(5, "x")}, instant_from_ns(1000), "control");
  EXPECT_TRUE(schedule.overdue(std::nullopt, instant_from_ns(1000)).empty());
  EXPECT_TRUE(schedule.overdue(instant_from_ns(990), instant_from_ns(999)).empty());
  const auto overdue = schedule.overdue(instant_from_ns(990), instant_from_ns(1020));
  ASSERT_EQ(overdue.size(), 3U);
  EXPECT_EQ(overdue[0].name, "a");
  EXPECT_EQ(overdue[0].steps, 2U);
  EXPECT_EQ(overdue[1].name, "b");
  EXPECT_EQ(overdue[2].name, "x");
}

}  // namespace schedule_test
}  // namespace lw::impair
