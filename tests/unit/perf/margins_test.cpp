// SPDX-License-Identifier: BSD-3-Clause
#include "perf/margins.h"

#include <chrono>

#include <gtest/gtest.h>

namespace lw::perf::margins_test {
namespace {

using std::chrono::milliseconds;

// A run of 100 ms with margins of 20 ms leaves 60 ms.

TEST(MarginsTest, CountsWhatCompletesBetweenTheMargins) {
  Margins margins(milliseconds(100), milliseconds(20));
  std::uint64_t bytes = 0;
  for (int ms = 1; ms <= 100; ++ms) margins.note(milliseconds(ms), bytes += 1000);
  EXPECT_TRUE(margins.any());
  // After 20 ms, and up to 80 ms.
  EXPECT_DOUBLE_EQ(margins.average_bps(), 60 * 1000 * 8e9 / 60e6);
}

TEST(MarginsTest, LeavesOutAFastStartAndAFastEnd) {
  Margins margins(milliseconds(100), milliseconds(20));
  margins.note(milliseconds(1), 5'000'000);
  margins.note(milliseconds(20), 6'000'000);
  margins.note(milliseconds(50), 6'001'000);
  margins.note(milliseconds(80) + Duration(1), 8'000'000);
  EXPECT_DOUBLE_EQ(margins.average_bps(), 1000 * 8e9 / 60e6);
}

TEST(MarginsTest, CountsNothingOfAnEmptyMiddle) {
  Margins margins(milliseconds(100), milliseconds(20));
  margins.note(milliseconds(10), 1000);
  margins.note(milliseconds(90), 2000);
  EXPECT_EQ(margins.average_bps(), 0);
}

TEST(MarginsTest, MayBeNone) { EXPECT_FALSE(Margins(milliseconds(100), Duration{}).any()); }

}  // namespace
}  // namespace lw::perf::margins_test
