// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/handover.h"

#include <gtest/gtest.h>

namespace lw::impair {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Handover, NobodyThereIsSaidAndTheThingTakenBack) {
  Handover<int> handover;
  int thing = 1;
  EXPECT_FALSE(handover.lend(thing, milliseconds(1)));
  handover.take([](int& lent) { lent = 2; });
  EXPECT_EQ(thing, 1);
}

/// Each of many swaps happens once, whole, and is seen by the lender.
TEST(Handover, EveryLoanIsUsedOnce) {
  Handover<std::uint64_t> handover;
  std::uint64_t taken = 0;
  std::jthread data_path([&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      handover.take([&](std::uint64_t& lent) {
        EXPECT_EQ(lent, taken);
        lent = ++taken;
      });
  });
  for (std::uint64_t i = 0; i < 1000; ++i) {
    std::uint64_t thing = i;
    ASSERT_TRUE(handover.lend(thing, seconds(60)));
    ASSERT_EQ(thing, i + 1);
  }
}

}  // namespace
}  // namespace lw::impair
