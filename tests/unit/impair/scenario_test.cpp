// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "impair/control/agenda.h"

namespace lw::impair {
namespace {

config::ScenarioStep step(int at, const char* act) {
  return {.at = Duration{at}, .act = act, .place = {}};
}

std::vector<std::string> order(Agenda& agenda, std::optional<Instant> zero) {
  std::vector<std::string> acts;
  for (; agenda.next(zero); agenda.pop(zero)) acts.push_back(agenda.next(zero)->step.act);
  return acts;
}

TEST(Agenda, GoesByTimeWhateverTheOrigin) {
  const auto fill = [](Agenda& agenda) {
    agenda.begin(std::vector{step(10, "a"), step(30, "b")});
    agenda.add(std::vector{step(5, "x"), step(30, "y")}, instant_from_ns(100));
    agenda.add(std::vector{step(2, "w")}, instant_from_ns(110));
  };
  Agenda agenda;
  fill(agenda);
  EXPECT_EQ(agenda.next(instant_from_ns(99))->due(instant_from_ns(99)), instant_from_ns(105));
  EXPECT_EQ(order(agenda, instant_from_ns(99)),
            (std::vector<std::string>{"x", "a", "w", "b", "y"}));
  fill(agenda);
  EXPECT_EQ(order(agenda, std::nullopt), (std::vector<std::string>{"x", "w", "y", "a", "b"}))
      << "what waits for time 0 comes last";
}

TEST(Agenda, ALoadedScenarioTakesTheOldOnesPlaceAndBeginsNow) {
  Agenda agenda;
  agenda.begin(std::vector{step(10, "a")});
  agenda.begin(std::vector{step(1, "b")}, instant_from_ns(500));
  ASSERT_EQ(agenda.size(), 1U);
  EXPECT_EQ(agenda.next(std::nullopt)->due(std::nullopt), instant_from_ns(501));
}

}  // namespace
}  // namespace lw::impair
