// SPDX-License-Identifier: BSD-3-Clause
#include <thread>

#include <gtest/gtest.h>

#include "impair/control/agenda.h"
#include "impair/control/appointment.h"

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

constexpr Instant kUnknown = Instant::max();

TEST(Appointment, IsKeptWhenItIsDueAndNotBefore) {
  Appointment<int> appointment;
  int thing = 0, used = 0;
  const auto keep = [&](int now, Instant zero) {
    appointment.keep(instant_from_ns(now), zero, [&](int&) { ++used; });
  };
  keep(1'000'000, instant_from_ns(0));
  appointment.lend(thing, Duration{50}, true);
  keep(1'000'000, kUnknown);
  keep(149, instant_from_ns(100));
  EXPECT_EQ(used, 0);
  keep(150, instant_from_ns(100));
  EXPECT_EQ(used, 1);
  EXPECT_TRUE(appointment.kept());
  EXPECT_FALSE(appointment.withdraw());
  keep(151, instant_from_ns(100));
  EXPECT_EQ(used, 1);
  appointment.lend(thing, Duration{200}, false);
  EXPECT_TRUE(appointment.withdraw());
  keep(300, kUnknown);
  EXPECT_EQ(used, 1);
}

/// Lent, taken back and lent for later while a loop looks: nothing is used twice, nor too early.
TEST(Appointment, SurvivesBeingChangedUnderALoop) {
  struct Thing {
    std::int64_t due = 0;
    int used = 0;
  };
  Appointment<Thing> appointment;
  std::atomic<bool> stop{false};
  std::atomic<int> early{0};
  std::jthread loop([&] {
    for (std::int64_t now = 0; !stop.load(); ++now)
      appointment.keep(instant_from_ns(now), kUnknown, [&](Thing& thing) {
        if (now < thing.due) ++early;
        ++thing.used;
      });
  });
  int kept = 0;
  // On a machine with much else to do each yield() may cost a time slice.
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (int i = 0; i < 20'000 && (kept == 0 || std::chrono::steady_clock::now() < enough); ++i) {
    Thing thing{.due = i % 2 ? 0 : std::int64_t{1} << 60};
    appointment.lend(thing, Duration{thing.due}, false);
    if (i % 3) std::this_thread::yield();
    const bool used = !appointment.withdraw();
    ASSERT_EQ(thing.used, used ? 1 : 0);
    kept += used ? 1 : 0;
  }
  stop = true;
  loop.join();
  EXPECT_EQ(early, 0);
  EXPECT_GT(kept, 0);
}

}  // namespace
}  // namespace lw::impair
