// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/ip_numbers.h"

#include <gtest/gtest.h>

namespace lw::analysis {
namespace {

TEST(IpNumbers, EqualOnesTellNothing) {
  IpNumbers numbers;
  for (int packet = 0; packet < 20; ++packet) numbers.add_new(0);
  EXPECT_FALSE(numbers.vary());
  EXPECT_FALSE(numbers.ordered());
  EXPECT_FALSE(numbers.is_late(65535));
}

TEST(IpNumbers, TwoThatDifferTellACopy) {
  IpNumbers numbers;
  numbers.add_new(7);
  EXPECT_FALSE(numbers.vary());
  numbers.add_new(3);
  EXPECT_TRUE(numbers.vary());
  EXPECT_FALSE(numbers.ordered());
}

TEST(IpNumbers, EightThatRiseTellTheOrderOverTheEnd) {
  IpNumbers numbers;
  for (std::uint16_t packet = 0; packet < 9; ++packet)
    numbers.add_new(static_cast<std::uint16_t>(65530 + packet));
  EXPECT_TRUE(numbers.ordered());
  EXPECT_TRUE(numbers.is_late(65535));
  EXPECT_FALSE(numbers.is_late(3));
  EXPECT_EQ(numbers.skipped_before(6), 3U);
}

}  // namespace
}  // namespace lw::analysis
