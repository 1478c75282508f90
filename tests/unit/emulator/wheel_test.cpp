// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/queue/wheel.h"

#include <map>

#include <gtest/gtest.h>

#include "core/chance.h"

namespace lw::emulator {
namespace wheel_test {

struct Item {
  Instant due;
  std::uint32_t id = 0;
};

Instant at(std::int64_t ns) { return instant_from_ns(ns); }

TEST(Wheel, EqualReleasesLeaveInTheOrderInWhichTheyCame) {
  Wheel<Item> wheel(100);
  for (std::uint32_t id = 0; id < 50; ++id) wheel.push({at(1000 + id % 2), id}, at(0));
  for (std::uint32_t i = 0; i < 25; ++i, wheel.pop()) EXPECT_EQ(wheel.front().id, 2 * i);
  for (std::uint32_t i = 0; i < 25; ++i, wheel.pop()) EXPECT_EQ(wheel.front().id, 2 * i + 1);
  EXPECT_TRUE(wheel.empty());
}

TEST(Wheel, KnowsTheNextReleaseToTheNanosecond) {
  Wheel<Item> wheel(10);
  wheel.push({at(70'000'123), 1}, at(0));  // two rounds away
  EXPECT_EQ(wheel.next(), at(70'000'123));
  wheel.push({at(900), 2}, at(0));
  EXPECT_EQ(wheel.next(), at(900));
  wheel.push({at(899), 3}, at(0));
  EXPECT_EQ(wheel.next(), at(899));
  EXPECT_EQ(wheel.front().id, 3U);
  wheel.pop();
  wheel.pop();
  EXPECT_EQ(wheel.next(), at(70'000'123));
  EXPECT_EQ(wheel.front().id, 1U);
}

/// Looking for the next one must not take a step per busy slot and round: this took hours.
TEST(Wheel, FarReleasesCostNoSearch) {
  constexpr std::uint32_t kItems = 50'000;
  constexpr std::int64_t kYear = 31'536'000'000'000'000;
  Wheel<Item> wheel(kItems);
  for (std::uint32_t id = 0; id < kItems; ++id)
    wheel.push({at(kYear * (1 + id % 50) + id * 5000), id}, at(id));
  Instant last{};
  for (std::uint32_t i = 0; i < kItems; ++i, wheel.pop()) {
    ASSERT_GE(wheel.next(), last);
    ASSERT_EQ(wheel.front().due, wheel.next());
    last = wheel.next();
  }
  EXPECT_TRUE(wheel.empty());
  EXPECT_EQ(last, at(50 * kYear + (kItems - 1) * 5000));
}

/// Items of one instant that waited in the heap, on the wheel and in the present slot.
TEST(Wheel, EqualReleasesKeepTheirOrderFromHowFarTheyCame) {
  Wheel<Item> wheel(10);
  const Instant due = at(600'000'000);
  wheel.push({at(1000), 0}, at(0));
  wheel.push({due, 1}, at(0));
  wheel.push({due, 2}, at(100'000));
  EXPECT_EQ(wheel.front().id, 0U);
  wheel.pop();
  wheel.push({at(400'000'000), 3}, at(399'000'000));
  EXPECT_EQ(wheel.front().id, 3U);
  wheel.pop();
  wheel.push({due, 4}, at(400'000'000));
  wheel.push({due - Duration{1}, 5}, at(400'000'000));
  for (const std::uint32_t id : {5U, 1U, 2U}) {
    EXPECT_EQ(wheel.front().id, id);
    wheel.pop();
  }
  wheel.push({due, 6}, due);
  for (const std::uint32_t id : {4U, 6U}) {
    EXPECT_EQ(wheel.front().id, id);
    wheel.pop();
  }
  EXPECT_TRUE(wheel.empty());
}

/// Held against a sorted map over a long run of pushes and pops, with delays from nothing to many
/// rounds, bursts at one instant, and idle times.
void run_against_a_map(std::uint64_t seed, std::int64_t most_delay, std::int64_t most_step) {
  const Chance chance(seed, 0);
  constexpr std::size_t kCapacity = 3000;
  Wheel<Item> wheel(kCapacity);
  std::multimap<Instant, std::uint32_t> expected;  // equal keys keep the order of insertion
  Instant now = at(1'700'000'000'000'000'000);
  for (std::uint32_t id = 0; id < 30'000; ++id) {
    if (chance.bits(id, 0) % 4 == 0)
      now += Duration{
          static_cast<std::int64_t>(chance.uniform(id, 1) * static_cast<double>(most_step))};
    while (!expected.empty() && (expected.begin()->first <= now || expected.size() == kCapacity)) {
      ASSERT_FALSE(wheel.empty());
      ASSERT_EQ(wheel.next(), expected.begin()->first);
      ASSERT_EQ(wheel.front().id, expected.begin()->second);
      now = std::max(now, expected.begin()->first);
      wheel.pop();
      expected.erase(expected.begin());
    }
    const double delay = chance.uniform(id, 2) * chance.uniform(id, 3);
    const Instant due =
        now + Duration{static_cast<std::int64_t>(delay * static_cast<double>(most_delay))};
    wheel.push({due, id}, now);
    expected.emplace(due, id);
    ASSERT_EQ(wheel.next(), expected.begin()->first);
  }
  for (const auto& [due, id] : expected) {
    ASSERT_EQ(wheel.next(), due);
    ASSERT_EQ(wheel.front().id, id);
    wheel.pop();
  }
  EXPECT_TRUE(wheel.empty());
}

TEST(Wheel, IsAPriorityQueueWithinASlot) { run_against_a_map(1, 400, 60); }
TEST(Wheel, IsAPriorityQueueWithHundredsInASlot) { run_against_a_map(5, 6000, 2); }
TEST(Wheel, IsAPriorityQueueWithinARound) { run_against_a_map(2, 3'000'000, 8000); }
TEST(Wheel, IsAPriorityQueueOverManyRounds) { run_against_a_map(3, 900'000'000, 900'000); }
TEST(Wheel, IsAPriorityQueueOverHours) { run_against_a_map(6, 9'000'000'000'000, 900'000'000); }
TEST(Wheel, IsAPriorityQueueAtTheEdgeOfARound) {
  run_against_a_map(7, 600'000'000, 3'000'000);
  run_against_a_map(8, 270'000'000, 90'000'000);
}
TEST(Wheel, IsAPriorityQueueWhenSeldomUsed) { run_against_a_map(4, 1'000'000, 400'000'000); }

}  // namespace wheel_test
}  // namespace lw::emulator
