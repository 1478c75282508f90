// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/gate.h"

#include <gtest/gtest.h>

namespace lw::impair {
namespace {

/// Two plain counters that only ever differ while their thread works on them.
TEST(Gate, NobodyIsInsideWhileItIsClosed) {
  Gate gate;
  std::uint64_t first = 0, second = 0;
  std::atomic<bool> over{false};
  std::jthread worker([&] {
    gate.open();
    while (!over.load(std::memory_order_relaxed)) {
      gate.pass();
      first = first + 1;
      second = second + 1;
    }
    gate.leave();
  });
  std::uint64_t seen = 0;
  for (int i = 0; i < 2000; ++i) {
    const Gate::Closed closed(gate);
    ASSERT_EQ(first, second);
    ASSERT_GE(first, seen);
    seen = first += 10;
    second += 10;
  }
  over = true;
  worker.join();
  EXPECT_EQ(first, second);
  EXPECT_GE(first, 20'000U);
}

TEST(Gate, NobodyWaitsForAThreadThatHasNotBegunOrHasLeft) {
  Gate gate;
  {
    const Gate::Closed closed(gate);
  }
  gate.open();
  gate.leave();
  {
    const Gate::Closed closed(gate);
  }
  SUCCEED();
}

}  // namespace
}  // namespace lw::impair
