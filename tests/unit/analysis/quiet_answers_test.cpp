// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/quiet_answers.h"

#include <chrono>

#include <gtest/gtest.h>

namespace lw::analysis {
namespace {

using std::chrono::milliseconds;

constexpr Instant at(int ms) { return Instant{milliseconds{ms}}; }

TEST(QuietAnswers, TheLongestTimeCounts) {
  QuietAnswers answers;
  EXPECT_EQ(answers.longest(at(0)), Duration{});
  answers.add({.first = 1, .end = 3, .quiet = milliseconds{2}, .sent = at(10)}, at(11));
  EXPECT_FALSE(answers.is_longer(milliseconds{2}));
  EXPECT_TRUE(answers.is_longer(milliseconds{3}));
  answers.add({.first = 7, .end = 8, .quiet = milliseconds{3}, .sent = at(20)}, at(21));
  EXPECT_EQ(answers.longest(at(30)), milliseconds{3});
}

TEST(QuietAnswers, WhatMayStillBeSentAgainShowsLess) {
  QuietAnswers answers;
  answers.add({.first = 1, .end = 2, .quiet = QuietAnswers::kEver, .sent = at(0)}, at(1));
  EXPECT_EQ(answers.longest(at(5)), milliseconds{5});
}

TEST(QuietAnswers, WhatIsSentAgainShowsNothing) {
  QuietAnswers answers;
  answers.add({.first = 1, .end = 3, .quiet = milliseconds{2}, .sent = at(0)}, at(1));
  answers.add({.first = 5, .end = 8, .quiet = milliseconds{4}, .sent = at(9)}, at(10));
  answers.sent_again(8);
  EXPECT_EQ(answers.longest(at(20)), milliseconds{4});
  answers.sent_again(7);
  EXPECT_EQ(answers.longest(at(20)), milliseconds{2});
  EXPECT_TRUE(answers.is_longer(milliseconds{3}));
}

}  // namespace
}  // namespace lw::analysis
