// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/path.h"

#include <gtest/gtest.h>

namespace lw::emulator {
namespace path_test {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr Direction kEast = Direction::west_to_east, kWest = Direction::east_to_west;

/// REFERENCE 2's path: 380 km, 1903.5 us in all.
Path apn_380km() {
  Path path;
  path.spans = {{380, 1.4682}};
  path.equipment = {{"all", 1, nanoseconds{42'500}}};
  return path;
}

TEST(Path, FibreTakesKilometresTimesIndexOverC) {
  EXPECT_EQ(fibre_delay(apn_380km(), kEast), nanoseconds{1'861'007});
  EXPECT_EQ(fibre_delay(Path{.spans = {{299'792.458, 1.0}}}, kEast), std::chrono::seconds{1});
}

TEST(Path, SpansAddUpBeforeRounding) {
  Path many, one;
  for (int i = 0; i < 1000; ++i) many.spans.push_back({0.38, 1.4682});
  one.spans = {{380, 1.4682}};
  EXPECT_EQ(fibre_delay(many, kEast), fibre_delay(one, kEast));
  EXPECT_NEAR(length_km(many, kEast), 380, 1e-9);
}

TEST(Path, EquipmentCountsEach) {
  Path path;
  path.equipment = {{"transponder", 2, microseconds{20}}, {"amplifier", 5, nanoseconds{300}}};
  EXPECT_EQ(equipment_delay(path, kEast), nanoseconds{41'500});
  EXPECT_EQ(one_way_delay(path, kEast), nanoseconds{41'500});
}

TEST(Path, Apn380TakesNineteenHundredMicroseconds) {
  EXPECT_EQ(one_way_delay(apn_380km(), kEast), nanoseconds{1'903'507});
}

/// ITU-T G.652's 4.897 us/km: 100 km there, 140 km back by another duct, one more regenerator.
TEST(Path, TheTwoWaysMayDiffer) {
  Path path;
  path.spans = {{100, 1.4682, Ways::west_to_east}, {140, 1.4682, Ways::east_to_west}, {10, 1.4682}};
  path.equipment = {{"regenerator", 1, microseconds{10}, Ways::east_to_west}};
  EXPECT_EQ(length_km(path, kEast), 110);
  EXPECT_EQ(length_km(path, kWest), 150);
  EXPECT_EQ(one_way_delay(path, kEast), nanoseconds{538'713});
  EXPECT_EQ(one_way_delay(path, kWest), nanoseconds{734'608 + 10'000});
  EXPECT_EQ(round_trip(path), nanoseconds{538'713 + 744'608});
  EXPECT_FALSE(symmetric(path));
  EXPECT_TRUE(symmetric(apn_380km()));
}

TEST(Budget, HundredGigabitTimesNineteenHundredMicroseconds) {
  EXPECT_DOUBLE_EQ(bandwidth_delay_bytes(100e9, microseconds{1900}), 23.75e6);
}

/// REFERENCE 2: 5.7 k frames at 4 KiB, 283 k at 64 B.
TEST(Budget, FramesInFlight) {
  const auto table = flight_table(100e9, microseconds{1900});
  ASSERT_EQ(table.size(), 6U);
  EXPECT_EQ(table.front().frame, 64U);
  EXPECT_EQ(table.front().frames, 282'739U);
  EXPECT_EQ(table.back().payload, 4096U);
  EXPECT_EQ(table.back().frame + kLineGap, 4178U);
  EXPECT_EQ(table.back().frames, 5'685U);
}

TEST(Budget, NoDelayHoldsNothing) { EXPECT_EQ(frames_in_flight(100e9, {}, 64), 0U); }

}  // namespace path_test
}  // namespace lw::emulator
