// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/quiet.h"

#include <chrono>

#include <gtest/gtest.h>

#include "nic/idle.h"

namespace lw::gen {
namespace {

using std::chrono::microseconds, std::chrono::milliseconds;

constexpr Instant kStart{std::chrono::seconds(1)};
constexpr microseconds kJustAfter{1};

/// An endpoint whose peer answered after `answer`, and that had work at kStart.
Quiet after_answer(Duration answer) {
  Quiet quiet;
  quiet.asked(kStart - answer);
  quiet.answered(kStart);
  quiet.worked(kStart, 1);
  return quiet;
}

TEST(QuietTest, WithANearPeerPollsForAWhile) {
  Quiet quiet = after_answer(Quiet::kNear - kJustAfter);
  EXPECT_EQ(quiet.rest(kStart + kJustAfter), Duration{});
  EXPECT_EQ(quiet.rest(kStart + Quiet::kPatience - kJustAfter), Duration{});
  EXPECT_EQ(quiet.rest(kStart + Quiet::kPatience), nic::kShortestNap);
}

TEST(QuietTest, WithAFarPeerSleepsAtOnce) {
  Quiet quiet = after_answer(Quiet::kNear);
  EXPECT_EQ(quiet.rest(kStart + kJustAfter), nic::kShortestNap);
}

TEST(QuietTest, WithoutAnAnswerThePeerIsFar) {
  Quiet quiet;
  quiet.answered(kStart);
  quiet.asked(kStart);
  quiet.worked(kStart, 1);
  EXPECT_EQ(quiet.rest(kStart + kJustAfter), nic::kShortestNap);
}

TEST(QuietTest, TheNearestAnswerCounts) {
  Quiet quiet = after_answer(microseconds(100));
  quiet.asked(kStart);
  quiet.answered(kStart + milliseconds(50));
  quiet.worked(kStart + milliseconds(50), 1);
  EXPECT_EQ(quiet.rest(kStart + milliseconds(50)), Duration{});
}

TEST(QuietTest, SleepsLongerInAStreamFromAFarPeer) {
  Quiet far = after_answer(milliseconds(4)), near = after_answer(microseconds(100));
  const Instant later = kStart + milliseconds(1);
  for (Quiet* quiet : {&far, &near}) {
    EXPECT_EQ(quiet->rest(later), nic::kShortestNap);
    quiet->worked(later, Quiet::kStream);
  }
  const Duration in_stream = far.rest(later + Quiet::kPatience);
  EXPECT_GT(in_stream, nic::kShortestNap);
  EXPECT_EQ(near.rest(later + Quiet::kPatience), nic::kShortestNap);
  // What comes in further rounds, before the next sleep, tells nothing.
  far.worked(later, Quiet::kStream);
  far.worked(later, 1);
  EXPECT_EQ(far.rest(later), in_stream);
  far.worked(later, Quiet::kStream - 1);
  EXPECT_EQ(far.rest(later), nic::kShortestNap);
}

TEST(QuietTest, SleepsLongestAfterALongTimeWithoutWork) {
  for (const Duration answer : {Duration(microseconds(100)), Duration(milliseconds(4))}) {
    Quiet quiet = after_answer(answer);
    EXPECT_GT(quiet.rest(kStart + Quiet::kLong), nic::kShortestNap);
  }
}

}  // namespace
}  // namespace lw::gen
