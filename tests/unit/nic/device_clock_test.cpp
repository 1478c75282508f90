// SPDX-License-Identifier: BSD-3-Clause
// No port here offers send-on-timestamp: a device's clock is a fake one that runs fast by 123 ppm,
// at 156.25 MHz, from a number of its own.
#include "nic/device_clock.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "nic/timed_sending.h"

namespace lw::nic {
namespace {

class Fake {
 public:
  DeviceClock clock() {
    return {[this]() -> std::optional<std::uint64_t> {
              if (!works) return std::nullopt;
              return tick_at(now_);
            },
            [this] { return instant_from_ns(now_ += kLook); }};
  }
  [[nodiscard]] std::uint64_t tick_at(std::int64_t ns) const {
    return 1'000'000'007 + static_cast<std::uint64_t>(static_cast<double>(ns) * ticks_per_ns);
  }
  void pass(std::int64_t ns) { now_ += ns; }
  [[nodiscard]] std::int64_t now() const { return now_; }

  bool works = true;
  double ticks_per_ns = 0.15625 * (1 + 123e-6);

 private:
  static constexpr std::int64_t kLook = 20;
  std::int64_t now_ = 5'000'000'000;
};

std::int64_t ticks_off(const Fake& fake, const DeviceClock& clock, std::int64_t at_ns) {
  return static_cast<std::int64_t>(clock.tick_at(instant_from_ns(at_ns)) - fake.tick_at(at_ns));
}

TEST(DeviceClock, SaysWhatTheDeviceWillSay) {
  Fake fake;
  DeviceClock clock = fake.clock();
  ASSERT_TRUE(clock.start(std::chrono::milliseconds(10)));
  // A tick is 6.4 ns; a reading is known to within a look at the clock, 20 ns.
  for (const std::int64_t ahead : {0, 1'000, 1'000'000, 100'000'000}) {
    EXPECT_LE(std::abs(ticks_off(fake, clock, fake.now() + ahead)), 8 + ahead / 100'000) << ahead;
  }
  EXPECT_EQ(clock.uncertainty(), Duration{10});  // half of a look
}

TEST(DeviceClock, SaysWhenTheDeviceStampedAFrame) {
  Fake fake;
  DeviceClock clock = fake.clock();
  ASSERT_TRUE(clock.start(std::chrono::milliseconds(10)));
  for (const std::int64_t ago : {0, 1'000, 1'000'000}) {
    const std::int64_t came = fake.now() - ago;
    const Instant said = clock.time_of(fake.tick_at(came));
    EXPECT_LE(std::abs((said - instant_from_ns(came)).count()), 50) << ago;
  }
}

TEST(DeviceClock, FollowsADeviceWhosePaceChanges) {
  Fake fake;
  DeviceClock clock = fake.clock();
  ASSERT_TRUE(clock.start(std::chrono::milliseconds(10)));
  for (int second = 0; second < 50; ++second) {
    fake.pass(100'000'000);
    clock.follow(instant_from_ns(fake.now()));
  }
  EXPECT_LE(std::abs(ticks_off(fake, clock, fake.now() + 1'000'000)), 8);
  fake.pass(99'000'000);  // not yet: the last reading counts on
  clock.follow(instant_from_ns(fake.now()));
  EXPECT_LE(std::abs(ticks_off(fake, clock, fake.now())), 16);
}

TEST(DeviceClock, AClockThatCantBeReadOrStandsStillIsNone) {
  Fake broken;
  broken.works = false;
  EXPECT_FALSE(broken.clock().start(std::chrono::milliseconds(1)));
  Fake still;
  still.ticks_per_ns = 0;
  EXPECT_FALSE(still.clock().start(std::chrono::milliseconds(1)));
}

TEST(TimedSending, PutsTheDevicesTimeAndTheFlagIntoTheFrame) {
  Fake fake;
  DeviceClock clock = fake.clock();
  ASSERT_TRUE(clock.start(std::chrono::milliseconds(10)));
  constexpr std::uint64_t kFlag = std::uint64_t{1} << 30;
  // As DPDK registers it: the first place of dynfield1 that is aligned for a timestamp.
  constexpr std::size_t kAlign = alignof(rte_mbuf_timestamp_t);
  constexpr int kField = (offsetof(rte_mbuf, dynfield1) + kAlign - 1) / kAlign * kAlign;
  const TimedSending timed(kField, kFlag, clock);
  rte_mbuf frame{};
  frame.ol_flags = 1;
  const Instant at = instant_from_ns(fake.now() + 50'000);
  timed.stamp(&frame, at);
  EXPECT_EQ(*RTE_MBUF_DYNFIELD(&frame, kField, rte_mbuf_timestamp_t*), clock.tick_at(at));
  EXPECT_EQ(frame.ol_flags, kFlag | 1);
}

}  // namespace
}  // namespace lw::nic
