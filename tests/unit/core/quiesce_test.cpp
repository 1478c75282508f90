// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "core/handoff.h"

namespace lw {
namespace {

/// Two plain counters that only ever differ while their thread works on them.
TEST(Quiesce, TheWorkerIsOutsideWhileItIsStopped) {
  Quiesce quiesce;
  std::uint64_t first = 0, second = 0;
  std::atomic<bool> over{false};
  std::jthread worker([&] {
    quiesce.enter();
    while (!over.load(std::memory_order_relaxed)) {
      quiesce.pass();
      first = first + 1;
      second = second + 1;
    }
    quiesce.leave();
  });
  std::uint64_t seen = 0;
  for (int i = 0; i < 2000; ++i) {
    const Quiesce::Stopped stopped(quiesce);
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

TEST(Quiesce, DoesNotWaitForAWorkerThatHasNotEnteredOrHasLeft) {
  Quiesce quiesce;
  {
    const Quiesce::Stopped stopped(quiesce);
  }
  quiesce.enter();
  quiesce.leave();
  {
    const Quiesce::Stopped stopped(quiesce);
  }
  SUCCEED();
}

}  // namespace
}  // namespace lw
