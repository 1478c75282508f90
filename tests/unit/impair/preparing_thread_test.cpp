// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/preparing_thread.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::impair {
namespace preparing_thread_test {

using Clock = PreparingThread::Clock;
using testing::HasSubstr;

constexpr auto kAmple = std::chrono::minutes(1);

TEST(PreparingThread, ReturnsWhatTheWorkReturns) {
  PreparingThread thread;
  const auto made = thread.run<int>(Clock::now() + kAmple, [](const auto&) { return 7; });
  EXPECT_EQ(made, 7);
  const auto refused = thread.run<int>(
      Clock::now() + kAmple, [](const auto&) -> Result<int> { return fail("not this one"); });
  EXPECT_EQ(refused.error().message, "not this one");
}

TEST(PreparingThread, WorkThatThrowsIsAnErrorAndTheNextIsDone) {
  PreparingThread thread;
  const auto thrown = thread.run<int>(Clock::now() + kAmple,
                                      [](const auto&) -> Result<int> { throw std::bad_alloc(); });
  ASSERT_FALSE(thrown);
  EXPECT_THAT(thrown.error().message, HasSubstr("nothing has changed"));
  EXPECT_EQ(thrown.error().exit, ExitCode::failed);
  EXPECT_EQ(thread.run<int>(Clock::now() + kAmple, [](const auto&) { return 2; }), 2);
}

TEST(PreparingThread, WorkBeyondItsTimeIsGivenUpAndTheNextIsDone) {
  PreparingThread thread;
  std::atomic<bool> ended{false};
  const auto late = thread.run<int>(Clock::now(), [&](const std::stop_token& given_up) {
    while (!given_up.stop_requested()) std::this_thread::yield();
    ended = true;
    return 1;
  });
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("nothing has changed"));
  EXPECT_EQ(late.error().exit, ExitCode::failed);
  EXPECT_EQ(thread.run<int>(Clock::now() + kAmple, [](const auto&) { return 2; }), 2);
  EXPECT_TRUE(ended);
}

TEST(PreparingThread, TheNextWaitsNoLongerThanItsOwnTime) {
  PreparingThread thread;
  std::atomic<bool> begun{false}, may_end{false};
  std::jthread first([&] {
    static_cast<void>(thread.run<int>(Clock::now() + kAmple, [&](const auto&) {
      for (begun = true; !may_end;) std::this_thread::yield();
      return 1;
    }));
  });
  while (!begun) std::this_thread::yield();
  EXPECT_FALSE(thread.run<int>(Clock::now(), [](const auto&) { return 2; }));
  may_end = true;
}

TEST(PreparingThread, TheEndOfARunEndsWaits) {
  PreparingThread thread;
  std::atomic<bool> begun{false};
  std::jthread client([&] {
    const auto made = thread.run<int>(Clock::now() + kAmple, [&](const auto& given_up) {
      for (begun = true; !given_up.stop_requested();) std::this_thread::yield();
      return 1;
    });
    EXPECT_THAT(made.error().message, HasSubstr("the run ends"));
  });
  while (!begun) std::this_thread::yield();
  thread.close();
  client.join();
  EXPECT_FALSE(thread.run<int>(Clock::now() + kAmple, [](const auto&) { return 2; }));
}

}  // namespace preparing_thread_test
}  // namespace lw::impair
