// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "core/handoff.h"

namespace lw {
namespace {

/// All items come, in order, and no more wait than the queue holds.
TEST(WaitingQueue, HandsOverAllItemsInOrder) {
  constexpr int kItems = 20'000;
  WaitingQueue<std::unique_ptr<int>> queue(3);
  std::jthread writer([&queue] {
    for (int i = 0; i < kItems; ++i) queue.push(std::make_unique<int>(i));
    queue.close();
  });
  for (int i = 0; i < kItems; ++i) {
    const auto item = queue.pop();
    ASSERT_TRUE(item.has_value());
    ASSERT_EQ(**item, i);
  }
  EXPECT_FALSE(queue.pop().has_value());
}

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Mailbox, LendFailsAndTakesTheObjectBackWhenNobodyUsesIt) {
  Mailbox<int> mailbox;
  int thing = 1;
  EXPECT_FALSE(mailbox.lend(thing, milliseconds(1)));
  mailbox.use_lent([](int& lent) { lent = 2; });
  EXPECT_EQ(thing, 1);
}

/// Without close(), the first of these waits for 100 days.
TEST(Mailbox, CloseEndsTheWaitAndAllLaterOnes) {
  Mailbox<int> mailbox;
  int thing = 1;
  const std::jthread data_path([&mailbox] { mailbox.close(); });
  EXPECT_FALSE(mailbox.lend(thing, std::chrono::hours(2400)));
  EXPECT_FALSE(mailbox.lend(thing, std::chrono::hours(2400)));
  mailbox.use_lent([](int& lent) { lent = 2; });
  EXPECT_EQ(thing, 1);
}

/// Each of many swaps happens once, whole, and is seen by the lender.
TEST(Mailbox, EachLentObjectIsUsedOnce) {
  Mailbox<std::uint64_t> mailbox;
  std::uint64_t taken = 0;
  std::jthread data_path([&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      mailbox.use_lent([&](std::uint64_t& lent) {
        EXPECT_EQ(lent, taken);
        lent = ++taken;
      });
  });
  for (std::uint64_t i = 0; i < 1000; ++i) {
    std::uint64_t thing = i;
    ASSERT_TRUE(mailbox.lend(thing, seconds(60)));
    ASSERT_EQ(thing, i + 1);
  }
}

constexpr Instant kUnknown = Instant::max();

TEST(Mailbox, IsTakenWhenItIsDueAndNotBefore) {
  Mailbox<int> mailbox;
  int thing = 0, used = 0;
  const auto keep = [&](int now, Instant zero) {
    mailbox.use_due(instant_from_ns(now), zero, [&](int&) { ++used; });
  };
  keep(1'000'000, instant_from_ns(0));
  mailbox.lend_until_due(thing, Duration{50}, true);
  keep(1'000'000, kUnknown);
  keep(149, instant_from_ns(100));
  EXPECT_EQ(used, 0);
  keep(150, instant_from_ns(100));
  EXPECT_EQ(used, 1);
  EXPECT_TRUE(mailbox.done());
  EXPECT_FALSE(mailbox.withdraw());
  keep(151, instant_from_ns(100));
  EXPECT_EQ(used, 1);
  mailbox.lend_until_due(thing, Duration{200}, false);
  EXPECT_TRUE(mailbox.withdraw());
  keep(300, kUnknown);
  EXPECT_EQ(used, 1);
}

/// Lent, taken back and lent for later while a loop looks: nothing is used twice, nor too early.
TEST(Mailbox, SurvivesBeingChangedUnderALoop) {
  struct Thing {
    std::int64_t due = 0;
    int used = 0;
  };
  Mailbox<Thing> mailbox;
  std::atomic<bool> stop{false};
  std::atomic<int> early{0};
  std::jthread loop([&] {
    for (std::int64_t now = 0; !stop.load(); ++now)
      mailbox.use_due(instant_from_ns(now), kUnknown, [&](Thing& thing) {
        if (now < thing.due) ++early;
        ++thing.used;
      });
  });
  int kept = 0;
  // On a machine with much else to do each yield() may cost a time slice.
  const auto begin = std::chrono::steady_clock::now();
  const auto goes_on = [&](int i) {
    const auto passed = std::chrono::steady_clock::now() - begin;
    if (kept == 0) return passed < std::chrono::minutes(2);
    return i < 20'000 && passed < std::chrono::seconds(2);
  };
  for (int i = 0; goes_on(i); ++i) {
    Thing thing{.due = i % 2 ? 0 : std::int64_t{1} << 60};
    mailbox.lend_until_due(thing, Duration{thing.due}, false);
    if (i % 3) std::this_thread::yield();
    const bool used = !mailbox.withdraw();
    ASSERT_EQ(thing.used, used ? 1 : 0);
    kept += used ? 1 : 0;
  }
  stop = true;
  loop.join();
  EXPECT_EQ(early, 0);
  EXPECT_GT(kept, 0);
}

}  // namespace
}  // namespace lw
