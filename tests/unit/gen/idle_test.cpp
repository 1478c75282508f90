// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/idle.h"

#include <gtest/gtest.h>

#include "core/time.h"

namespace lw::gen {
namespace {

using Rest = Idle::Rest;
using std::chrono::microseconds;
using std::chrono::milliseconds;

class IdleTest : public testing::Test {
 protected:
  IdleTest() { idle_.moved(now_); }
  /// Something moves, `pause` after what moved last.
  void move_after(Duration pause) { idle_.moved(now_ += pause); }
  [[nodiscard]] Rest after(Duration pause) const { return idle_.rest(now_ + pause); }

  Idle idle_;
  Instant now_ = instant_from_ns(1'000'000'000'000);
};

TEST_F(IdleTest, PollsAfterAMovementThenNapsThenSleeps) {
  move_after(milliseconds(1));
  EXPECT_EQ(after(microseconds(99)), Rest::poll);
  EXPECT_EQ(after(microseconds(100)), Rest::nap);
  EXPECT_EQ(after(microseconds(499'999)), Rest::nap);
  EXPECT_EQ(after(milliseconds(500)), Rest::sleep);
}

TEST_F(IdleTest, PollsAroundTheTimeThatFourPausesTook) {
  for (const int us : {3800, 3900, 3850}) move_after(microseconds(us));
  EXPECT_EQ(after(microseconds(3850)), Rest::nap);  // three say nothing
  move_after(microseconds(3870));
  EXPECT_EQ(after(microseconds(3649)), Rest::nap);
  EXPECT_EQ(after(microseconds(3650)), Rest::poll);
  EXPECT_EQ(after(microseconds(4050)), Rest::poll);
  EXPECT_EQ(after(microseconds(4051)), Rest::nap);
}

TEST_F(IdleTest, WhatComesInBetweenIsNoPause) {
  for (int i = 0; i < 4; ++i) {
    move_after(microseconds(3800));
    move_after(microseconds(20));
  }
  EXPECT_EQ(after(microseconds(3800)), Rest::poll);
}

TEST_F(IdleTest, ForeseesNothingWherePausesDiffer) {
  for (const int us : {3800, 3800, 3800, 4400}) move_after(microseconds(us));
  move_after(milliseconds(700));  // too long to be one of them
  EXPECT_EQ(after(microseconds(3800)), Rest::nap);
  for (int i = 0; i < 4; ++i) move_after(microseconds(4400));  // the path is another one now
  EXPECT_EQ(after(microseconds(3800)), Rest::nap);
  EXPECT_EQ(after(microseconds(4400)), Rest::poll);
}

}  // namespace
}  // namespace lw::gen
