// SPDX-License-Identifier: BSD-3-Clause
#include "nic/arrival_clock.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::nic {
namespace arrival_clock_test {

using testing::ElementsAre;

constexpr std::int64_t kWall = 1'700'000'000'000'000'000;  // at the steady clock's time 0
constexpr std::int64_t kSecond = 1'000'000'000;

Instant at(std::int64_t ns) { return instant_from_ns(ns); }

/// The arrivals of frames stamped at these times, taken at `now`. `step`: by which the wall clock
/// has stepped since the stamps.
std::vector<std::int64_t> arrivals(ArrivalClock& clock, std::vector<std::int64_t> times,
                                   std::int64_t now, std::int64_t step = 0) {
  for (std::int64_t& time : times) time += kWall;
  std::vector<std::int64_t> found;
  for (const Instant arrival : clock.arrivals_of(times, at(now), kWall + now + step))
    found.push_back(to_ns(arrival));
  return found;
}

TEST(ArrivalClock, AFrameArrivesWhenItIsStamped) {
  ArrivalClock clock;
  clock.seen_empty(at(1000));
  EXPECT_THAT(arrivals(clock, {1500, 2500, 9000}, 10'000), ElementsAre(1500, 2500, 9000));
  EXPECT_EQ(clock.earliest(), at(9000));
  EXPECT_EQ(clock.stepped(), 0U);
}

TEST(ArrivalClock, NotBeforeTheRingWasEmptyAndNotAfterItWasTaken) {
  ArrivalClock clock;
  clock.seen_empty(at(2000));
  EXPECT_THAT(arrivals(clock, {1500, 9000, 10'020}, 10'000), ElementsAre(2000, 9000, 10'000));
  EXPECT_EQ(clock.stepped(), 0U);  // by less than a step
}

TEST(ArrivalClock, ArrivalsNeverDecrease) {
  ArrivalClock clock;
  EXPECT_THAT(arrivals(clock, {5000, 4000, 6000}, 10'000), ElementsAre(5000, 5000, 6000));
  clock.seen_empty(at(3000));
  EXPECT_THAT(arrivals(clock, {5500}, 11'000), ElementsAre(6000));
}

TEST(ArrivalClock, AStepOfTheClockIsHeldAndCounted) {
  ArrivalClock clock;
  clock.seen_empty(at(5 * kSecond));
  EXPECT_THAT(arrivals(clock, {5 * kSecond + 100}, 5 * kSecond + 500, kSecond),
              ElementsAre(5 * kSecond));
  EXPECT_EQ(clock.stepped(), 1U);
  EXPECT_THAT(arrivals(clock, {5 * kSecond + 600}, 5 * kSecond + 900, -kSecond),
              ElementsAre(5 * kSecond + 900));
  EXPECT_EQ(clock.stepped(), 2U);
}

TEST(BothClocks, AreReadAtOneMoment) {
  const auto first = BothClocks::read(), second = BothClocks::read();
  EXPECT_LE(first.now, second.now);
}

}  // namespace arrival_clock_test
}  // namespace lw::nic
