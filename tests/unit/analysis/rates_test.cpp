// SPDX-License-Identifier: BSD-3-Clause
// What round trips, gaps and pauses say about a rate.
#include <limits>

#include <gtest/gtest.h>

#include "analysis/pause_log.h"
#include "analysis/requests/flight_times.h"

namespace lw::analysis {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// 100 round trips that are long, and 10 that are short; each has its data in flight, and as many
/// packets were acknowledged in its time.
FlightTimes times_of(std::uint64_t low_in_flight, std::uint64_t high_in_flight,
                     std::uint64_t high_acknowledged) {
  FlightTimes times;
  times.shortest = 10'000;
  times.low = {10, 100, 10 * low_in_flight, 100'000, 100'000};
  times.high = {100, high_acknowledged, 100 * high_in_flight, 1'000'000, 5'000'000};
  return times;
}

TEST(FlightTimes, AQueueStandsIfTheRoundTripGrowsWithWhatIsInFlight) {
  const auto queue = times_of(10, 50, 1000).standing_queue(milliseconds{1});
  ASSERT_TRUE(queue);
  EXPECT_DOUBLE_EQ(queue->rate, 1e6);
  EXPECT_EQ(queue->time, microseconds{40});
  EXPECT_FALSE(times_of(50, 50, 1000).standing_queue(milliseconds{1})) << "the path has grown";
  EXPECT_FALSE(times_of(10, 50, 700).standing_queue(milliseconds{1})) << "the rate fell";
  EXPECT_FALSE(times_of(10, 50, 1000).standing_queue(milliseconds{3})) << "a third of the time";
}

TEST(FlightTimes, AnEvenRateHasGapsOfOneSize) {
  FlightTimes even, bursts;
  for (int i = 0; i < 100; ++i) {
    even.add_gap(900 + i % 7 * 40);
    bursts.add_gap(i % 10 == 0 ? 100'000 : 100);
  }
  EXPECT_TRUE(even.is_even());
  EXPECT_FALSE(bursts.is_even());
  even.add_gap(60'000);
  EXPECT_FALSE(even.is_even()) << "it was silent for a time";
}

TEST(FlightTimes, TimesThatSomebodyMadeUpAddUpToAMost) {
  FlightTimes times;
  for (int i = 0; i < 1000; ++i) times.add_gap(std::numeric_limits<std::int64_t>::max() - i);
  EXPECT_GT(times.gaps.back().time, 0);
  EXPECT_TRUE(times.is_even());
}

class Pauses : public testing::Test {
 protected:
  void link(Duration at, std::uint16_t quanta, std::uint8_t port = 1) {
    log_.add_link(1, instant_from_ns(at.count()), {{std::byte{2}, {}, {}, {}, {}, std::byte{port}}},
                  quanta);
  }
  PauseLog log_;
};

TEST_F(Pauses, LastFromAPauseToItsEnd) {
  link(microseconds{100}, 0xFFFF);
  link(microseconds{150}, 0xFFFF);  // goes on
  link(microseconds{190}, 0);
  link(microseconds{200}, 0);  // ends nothing
  link(microseconds{300}, 0xFFFF);
  link(microseconds{310}, 0);
  EXPECT_EQ(log_.link_paused(), microseconds{100});
  EXPECT_EQ(log_.of_link(), 3U);
  EXPECT_EQ(log_.paused(3), Duration{});
}

TEST_F(Pauses, OfTwoPortsAreNotAddedUp) {
  link(microseconds{100}, 0xFFFF, 1);
  link(microseconds{120}, 0xFFFF, 2);
  link(microseconds{140}, 0, 1);
  link(microseconds{190}, 0, 2);
  EXPECT_EQ(log_.link_paused(), microseconds{70});
}

TEST_F(Pauses, RunOutIfNobodyEndsThem) {
  link(microseconds{100}, 0xFFFF);
  link(microseconds{130}, 0xFFFF);
  link(milliseconds{500}, 0);
  EXPECT_EQ(log_.link_paused(), microseconds{30});
}

TEST_F(Pauses, OfAClockThatGoesBackAreNotNegative) {
  for (int i = 0; i < 4; ++i) {
    link(i % 2 == 0 ? Duration::max() : Duration::min(), 0xFFFF);
    link(microseconds{100 + 10 * i}, 0xFFFF);
  }
  EXPECT_GE(log_.link_paused(), Duration{});
}

TEST_F(Pauses, OfAPriorityHaveItsNumber) {
  wire::PfcFields fields;
  fields.quanta[3] = 100;
  fields.quanta[5] = 0;
  log_.add(7, instant_from_ns(1000), {}, fields);
  EXPECT_EQ(log_.of_priority()[3], 1U);
  EXPECT_EQ(log_.of_priority()[5], 0U);
  ASSERT_TRUE(log_.summary());
  EXPECT_EQ(log_.summary()->detail, "1 of priority 3");
}

}  // namespace
}  // namespace lw::analysis
