// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "impair/datapath/configuration.h"

namespace lw::impair {
namespace sizing_test {

using testing::HasSubstr;

config::ImpairProfile profile_of(Duration delay) {
  config::ImpairProfile profile;
  emulator::RuleConfig rule;
  rule.name = "r";
  rule.delay = delay;
  profile.rules = {rule};
  return profile;
}

/// 100 Gb/s x 1.9 ms = 23.75 MB; as frames of 1024 + 4 + 20 B: 22,663, and a quarter more.
TEST(Sizing, FollowsFromDelayRateAndSmallestFrame) {
  const auto sizing = size_for(profile_of(std::chrono::microseconds(1900)));
  EXPECT_EQ(sizing.frames_per_direction, 22'663U + 22'663U / 4);
  EXPECT_GT(sizing.buffers, 2 * sizing.frames_per_direction);
  EXPECT_GT(sizing.memory(), sizing.buffers * 9600ULL);
}

TEST(Sizing, AReserveMakesRoomForLongerDelays) {
  auto profile = profile_of(std::chrono::microseconds(900));
  const auto before = size_for(profile);
  profile.capacity.reserve = std::chrono::milliseconds(1);
  EXPECT_EQ(size_for(profile).frames_per_direction,
            size_for(profile_of(std::chrono::microseconds(1900))).frames_per_direction);
  EXPECT_GT(size_for(profile).memory(), before.memory());
  EXPECT_THAT(arithmetic(profile),
              HasSubstr("100.0 Gb/s x (900 us + 1 ms in reserve) = 23.75 MB in flight"));
}

/// 1 GiB in frames of 60 B, in each direction: 17.9 M places of 64 B, and of 4 B for the free ones;
/// and 2^25 places of 16 B for the frames themselves.
/// 40 B for the times of each frame that may wait, and 16 B for where it is.
TEST(Sizing, TheRulesQueuesCount) {
  auto profile = profile_of(Duration{});
  const auto without = size_for(profile);
  profile.rules[0].queue = {.rate_bps = 1e12, .buffer_bytes = 1U << 30};
  constexpr std::uint64_t kEachWay = 17'895'698ULL * 68 + (16ULL << 25);
  EXPECT_EQ(size_for(profile).stage_bytes, 2 * kEachWay);
  EXPECT_GE(size_for(profile).memory(), without.memory() + 2 * kEachWay);
  EXPECT_THAT(arithmetic(profile), HasSubstr("and the rules' queues 3.51 GB"));
  profile.rules[0].east_to_west = false;
  EXPECT_EQ(size_for(profile).stage_bytes, kEachWay);
}

/// 380 km of fibre, full of the smallest frames: 354,075 each way with a quarter to spare. Frames
/// of 60 B take 192 B of the arena; the worst are those of 65 B, which take 256 B.
TEST(Sizing, SmallFramesWaitInArenas) {
  auto profile = profile_of(std::chrono::nanoseconds(1'903'507));
  profile.capacity.smallest_frame = 60;
  const auto sizing = size_for(profile);
  EXPECT_EQ(sizing.frames_per_direction, 283'260U + 283'260U / 4);
  EXPECT_LT(sizing.memory(), 512'000'000U);
  EXPECT_GE(sizing.arena_bytes, sizing.frames_per_direction * 84 / 89 * 256);
  EXPECT_THAT(arithmetic(profile), HasSubstr("two arenas in which frames wait 17"));
  profile.capacity.smallest_frame = 257;
  EXPECT_EQ(size_for(profile).arena_bytes, 0U);
  EXPECT_GT(size_for(profile).buffers, 2 * size_for(profile).frames_per_direction);
}

TEST(Sizing, ArenasAreNotMadeWhereBuffersTakeLess) {
  auto profile = profile_of(std::chrono::microseconds(5));
  profile.capacity.smallest_frame = 60;
  EXPECT_EQ(size_for(profile).arena_bytes, 0U);
}

TEST(Sizing, WithoutDelayThereIsStillRoomForBursts) {
  EXPECT_EQ(size_for(profile_of(Duration{})).frames_per_direction, 1024U);
}

TEST(Sizing, TooLittleMemoryIsRefusedWithTheArithmetic) {
  const auto profile = profile_of(std::chrono::seconds(10));
  const auto fits = check_memory(profile, 1'000'000'000);
  ASSERT_FALSE(fits);
  EXPECT_EQ(fits.error().exit, ExitCode::environment);
  EXPECT_THAT(fits.error().message, HasSubstr("100.0 Gb/s x 10 s = 125.0 GB"));
  EXPECT_THAT(fits.error().message, HasSubstr("1.00 GB is available"));
  EXPECT_TRUE(check_memory(profile_of(Duration{}), 1'000'000'000));
}

TEST(Sizing, UnknownMemoryRefusesNothing) {
  EXPECT_TRUE(check_memory(profile_of(std::chrono::seconds(10)), 0));
}

}  // namespace sizing_test
}  // namespace lw::impair
