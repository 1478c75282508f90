// SPDX-License-Identifier: BSD-3-Clause
// Flow control by priority at the emulated queue, in virtual time.
#include <gtest/gtest.h>

#include "emulator/stages/queue.h"
#include "emulator/stats/audit.h"
#include "support/fifo.h"
#include "support/path_frames.h"

namespace lw::emulator {
namespace pause_test {

Instant at(std::int64_t ns) { return instant_from_ns(ns); }

wire::PfcFields ask(std::uint8_t priority, std::uint16_t quanta) {
  wire::PfcFields fields;
  fields.quanta[priority] = quanta;
  return fields;
}

std::vector<wire::PfcFields> requests_of(Link<int>& link, Instant now) {
  const auto requests = link.asks_for(now);
  return {requests.begin(), requests.end()};
}

// 1 Gb/s, and 976 B with 24 B of overhead: 8 us a frame.
constexpr QueueConfig kQueue{.rate_bps = 1e9, .buffer_bytes = 100'000, .overhead = 24};

TEST(Fifo, SendsWhatItHasBegunAndNothingMoreWhilePaused) {
  test::Fifo queue(kQueue);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(queue.enqueue(976, at(0)), at(8000 * i));
  queue.pause(at(1000), at(51'000));
  EXPECT_EQ(queue.departures().back(), at(24'000 + 43'000));
  EXPECT_EQ(queue.enqueue(976, at(2000)), at(75'000));
  EXPECT_EQ(queue.occupancy(at(8000)), 3 * 976U);
  EXPECT_EQ(queue.occupancy(at(58'999)), 3 * 976U);
  EXPECT_EQ(queue.occupancy(at(59'000)), 2 * 976U);
}

TEST(Fifo, GoesOnWhenThePauseIsEnded) {
  test::Fifo queue(kQueue);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.enqueue(976, at(0)));
  queue.pause(at(1000), at(51'000));
  queue.pause(at(20'000), at(20'000));
  EXPECT_EQ(queue.departures().back(), at(36'000));
  EXPECT_EQ(queue.enqueue(976, at(20'000)), at(44'000));
}

TEST(Fifo, APauseOfAnEmptyQueueHoldsTheNextFrame) {
  test::Fifo queue(kQueue);
  queue.pause(at(0), at(50'000));
  EXPECT_EQ(queue.enqueue(976, at(10'000)), at(58'000));
  queue.pause(at(20'000), at(20'000));
  EXPECT_EQ(queue.enqueue(976, at(20'000)), at(36'000));
}

TEST(Fifo, APauseThatEndsBeforeTheNextTurnChangesNothing) {
  test::Fifo queue(kQueue);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.enqueue(976, at(0)));
  queue.pause(at(1000), at(7000));
  queue.pause(at(1000), at(1000));
  EXPECT_EQ(queue.enqueue(976, at(1000)), at(32'000));
}

TEST(PauseWatch, AsksOnceAgainHalfwayAndEndsIt) {
  // 65,535 quanta are 335,539 ns at 100 Gb/s.
  PauseWatch watch({.emit = PauseThresholds{1000, 400}, .link_bps = 100e9});
  EXPECT_EQ(watch.quanta_due(999, at(0)), std::nullopt);
  EXPECT_EQ(watch.quanta_due(1000, at(10)), 0xffff);
  EXPECT_EQ(watch.quanta_due(5000, at(20)), std::nullopt);
  EXPECT_EQ(watch.quanta_due(401, at(167'778)), std::nullopt);
  EXPECT_EQ(watch.quanta_due(401, at(167'779)), 0xffff);
  EXPECT_EQ(watch.quanta_due(400, at(167'780)), 0);
  EXPECT_EQ(watch.quanta_due(400, at(400'000)), std::nullopt);
  EXPECT_FALSE(watch.asked());
}

// A real frame's, with 22 B of overhead: 8 us again.
constexpr std::uint32_t kBytes = 978;

RuleConfig paused_rule() {
  RuleConfig rule;
  rule.name = "r";
  rule.delay = Duration{1'000'000};
  rule.queue = kQueue;
  rule.queue->overhead = 1000 - kBytes;
  rule.queue->pfc = PauseConfig{.priority = 3};
  return rule;
}

/// Frames that come every 10 us, and pauses of any length at any time: whatever is asked, a frame
/// begins to leave as soon as the one before has left and no pause is on.
TEST(Pause, EveryFrameLeavesWhenItsTurnComesAndNobodyHasAskedForSilence) {
  const RuleConfig rule = paused_rule();
  Link<int> link(Pipeline(Direction::west_to_east, 1, std::span(&rule, 1)), {.capacity = 1024});
  test::VirtualRun run(link);
  const auto frame = test::roce_frame(1, 1, 918);
  ASSERT_EQ(frame.size(), kBytes);
  const Chance chance(4, 4);
  std::vector<std::pair<std::int64_t, std::int64_t>> pauses;  // at, until
  std::vector<std::int64_t> came;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t now = i * 10'000;
    if (chance.bits(static_cast<std::uint64_t>(i)) % 8 == 0) {
      const auto quanta =
          static_cast<std::uint16_t>(chance.bits(static_cast<std::uint64_t>(i), 1) % 90);
      run.advance(at(now + 1));
      link.pause(ask(3, quanta), at(now + 1));
      link.pause(ask(2, 0xffff), at(now + 1));  // another priority's
      pauses.emplace_back(now + 1, now + 1 + quanta * 512);
    }
    ASSERT_TRUE(run.admit(i, frame, at(now + 5)));
    came.push_back(now + 5);
  }
  run.finish();
  ASSERT_EQ(run.exits().size(), came.size());
  ASSERT_GT(pauses.size(), 20U);
  std::int64_t free = 0;
  for (std::size_t i = 0; i < came.size(); ++i) {
    const std::int64_t turn = std::max(free, came[i]);
    std::int64_t start = turn;
    for (const auto& [asked_at, until] : pauses) {
      if (asked_at >= start) break;
      start = std::max(turn, until);
    }
    free = start + 8000;
    ASSERT_EQ(run.exits()[i].handle, static_cast<int>(i));
    ASSERT_EQ(to_ns(run.exits()[i].at), free + 1'000'000) << i;
  }
  const RuleStats stats = link.pipeline().rules()[0].stats();
  EXPECT_EQ(stats.pauses.heard, pauses.size());
  for (const Check& check : audit(rule, stats)) EXPECT_TRUE(check.holds()) << check.what;
  EXPECT_TRUE(link.accounting().holds());
}

/// A trace changes the rate every 10 us while pauses come and the queue changes: the audit of what
/// left finds no fault, also of frames that came in under another row.
TEST(Pause, WithATraceTheAuditHoldsThroughPausesAndChanges) {
  RuleConfig rule = paused_rule();
  rule.queue->rate_bps = 9e9;
  rule.trace = TraceConfig{{{Duration{0}, {}, {}, 8e9},
                            {Duration{10'000}, {}, {}, {}},
                            {Duration{20'000}, {}, {}, 30e9}},
                           Duration{30'000}};
  Link<int> link(Pipeline(Direction::west_to_east, 1, std::span(&rule, 1)), {.capacity = 4096});
  test::VirtualRun run(link);
  const auto frame = test::roce_frame(1, 1, 918);
  const Chance chance(4, 5);
  int rates = 0;
  for (int i = 0; i < 4000; ++i) {
    const Instant now = at(i * 1000);
    ASSERT_TRUE(run.admit(i, frame, now) || i > 100);
    const std::uint64_t draw = chance.bits(static_cast<std::uint64_t>(i));
    run.advance(now + Duration{1});
    if (draw % 16 == 0)
      link.pause(ask(3, static_cast<std::uint16_t>(draw / 16 % 60)), now + Duration{1});
    if (draw / 1024 % 200 != 0) continue;
    switch (draw / 204'800 % 4) {
      case 0:
        rule.queue->buffer_bytes += 1000;
        break;
      case 1:
        rule.queue->overhead ^= 8;
        break;
      case 2:
        rule.queue->rate_bps = 17e9 - rule.queue->rate_bps;
        break;
      default:
        rule.trace->rows[2].rate_bps = 50e9 - *rule.trace->rows[2].rate_bps;
        break;
    }
    for (const Check& check :
         audit(link.pipeline().configs()[0], link.pipeline().rules()[0].stats())) {
      ASSERT_TRUE(check.holds()) << i << ": " << check.what;
      rates += check.what == "rate while busy" ? 1 : 0;
    }
    Link<int>::PreparedPipeline next(Pipeline(Direction::west_to_east, 1, std::span(&rule, 1), {},
                                              link.pipeline().rule_names()));
    link.replace(next, now + Duration{1});
  }
  EXPECT_GT(rates, 10);
}

TEST(Pause, AQueueAsksAndGoesOnAskingUntilItHasEmptied) {
  RuleConfig rule = paused_rule();
  rule.queue->pfc->emit = PauseThresholds{10 * kBytes, 4 * kBytes};
  rule.queue->pfc->link_bps = 10e9;  // again after 1,677,696 ns
  Link<int> link(Pipeline(Direction::west_to_east, 1, std::span(&rule, 1)), {.capacity = 1024});
  const auto frame = test::roce_frame(1, 1, 918);
  const auto envelope = roce::open_envelope(frame);
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(link.admit(i, envelope, at(0)));
  EXPECT_TRUE(link.asks_for(at(0)).empty());
  EXPECT_EQ(link.next_ask(), ReleaseQueue<int>::kNever);
  ASSERT_TRUE(link.admit(9, envelope, at(0)));
  EXPECT_EQ(requests_of(link, at(0)), std::vector{ask(3, 0xffff)});
  // It listens itself, too, and stands still for 5 ms.
  link.pause(ask(3, 9766), at(0));
  std::vector<std::pair<std::int64_t, std::uint16_t>> asked;
  while (link.next_ask() != ReleaseQueue<int>::kNever) {
    const Instant now = link.next_ask();
    for (const wire::PfcFields& request : link.asks_for(now))
      asked.emplace_back(to_ns(now), *request.quanta[3]);
  }
  // One frame was being sent, nine wait until 5,000,192 ns, and it ends with the sixth that left.
  const std::vector<std::pair<std::int64_t, std::uint16_t>> expected = {
      {1'677'696, 0xffff}, {3'355'392, 0xffff}, {5'033'088, 0xffff}, {5'040'192, 0}};
  EXPECT_EQ(asked, expected);
  EXPECT_EQ(link.pipeline().rules()[0].stats().pauses.asked, 4U);
  EXPECT_EQ(link.pipeline().rules()[0].stats().pauses.ended, 1U);
}

/// Two queues, which fill with the packets to QP 1 and QP 2.
std::vector<RuleConfig> two_asking_rules(std::uint8_t second_priority) {
  std::vector<RuleConfig> rules(2, paused_rule());
  for (std::uint32_t i = 0; i < 2; ++i) {
    rules[i].name = std::to_string(i);
    rules[i].match.dest_qp = {{i + 1, i + 1}};
    rules[i].queue->pfc->emit = PauseThresholds{(4 + 4 * i) * kBytes, kBytes};
    rules[i].queue->pfc->link_bps = 10e9;  // again after 1,677,696 ns
    rules[i].queue->pfc->honour = false;
  }
  rules[1].queue->pfc->priority = second_priority;
  return rules;
}

/// Each queue has a pause frame of its own, whether its frames come in one burst or one by one.
TEST(Pause, QueuesThatFillAtOnceAskApart) {
  for (const int burst : {1, 16}) {
    const auto rules = two_asking_rules(5);
    Link<int> link(Pipeline(Direction::west_to_east, 1, rules), {.capacity = 64});
    std::vector<wire::PfcFields> requests;
    for (int i = 0; i < 16; ++i) {
      const auto number = static_cast<std::uint32_t>(i);
      const auto frame = test::roce_frame(1 + number % 2, number, 918);
      ASSERT_TRUE(link.admit(i, roce::open_envelope(frame), at(0)));
      if ((i + 1) % burst == 0)
        std::ranges::copy(link.asks_for(at(0)), std::back_inserter(requests));
    }
    EXPECT_EQ(requests, (std::vector{ask(3, 0xffff), ask(5, 0xffff)})) << burst;
  }
}

/// A pause frame of 0 quanta would restart the sender of both queues.
TEST(Pause, TheFirstOfTwoQueuesOfAPriorityDoesNotEndTheOthersPause) {
  const auto rules = two_asking_rules(3);
  Link<int> link(Pipeline(Direction::west_to_east, 1, rules), {.capacity = 64});
  for (int i = 0; i < 16; ++i) {
    const auto frame = test::roce_frame(i < 4 ? 1 : 2, static_cast<std::uint32_t>(i), 918);
    ASSERT_TRUE(link.admit(i, roce::open_envelope(frame), at(0)));
  }
  EXPECT_EQ(requests_of(link, at(0)), (std::vector{ask(3, 0xffff), ask(3, 0xffff)}));
  std::vector<std::pair<std::int64_t, std::uint16_t>> asked;
  while (link.next_ask() != ReleaseQueue<int>::kNever) {
    const Instant now = link.next_ask();
    for (const wire::PfcFields& request : link.asks_for(now))
      asked.emplace_back(to_ns(now), *request.quanta[3]);
  }
  // The first queue has 4 frames and the second one 12, of 8 us each; xon is one frame.
  EXPECT_EQ(asked, (std::vector<std::pair<std::int64_t, std::uint16_t>>{{11 * 8000, 0}}));
  EXPECT_EQ(link.pipeline().rules()[0].stats().pauses.ended, 0U);
  EXPECT_EQ(link.pipeline().rules()[1].stats().pauses.ended, 1U);
}

/// As many as there are priorities: each has a line, which the others' pauses don't touch.
TEST(Pause, EachPriorityIsSilentByItself) {
  std::vector<RuleConfig> rules;
  for (std::uint8_t i = 0; i < wire::kPriorities; ++i) {
    rules.push_back(paused_rule());
    rules.back().name = std::to_string(i);
    rules.back().match.dest_qp = {{i + 2U, i + 2U}};
    rules.back().queue->pfc->priority = i;
  }
  for (std::uint8_t silent = 0; silent < wire::kPriorities; ++silent) {
    Link<int> link(Pipeline(Direction::west_to_east, 1, rules), {.capacity = 64});
    test::VirtualRun run(link);
    link.pause(ask(silent, 1000), at(0));
    for (int i = 0; i < int{wire::kPriorities}; ++i)
      ASSERT_TRUE(run.admit(i, test::roce_frame(static_cast<std::uint32_t>(i) + 2, 0, 918), at(1)));
    run.finish();
    ASSERT_EQ(run.exits().size(), std::size_t{wire::kPriorities});
    for (const auto& exit : run.exits())
      EXPECT_EQ(to_ns(exit.at), (exit.handle == silent ? 512'000 : 1) + 8000 + 1'000'000);
    EXPECT_EQ(run.exits().back().handle, silent);
  }
}

TEST(Pause, WhoIsReplacedAsksNoMore) {
  RuleConfig rule = paused_rule();
  rule.queue->pfc->emit = PauseThresholds{kBytes, 0};
  Link<int> link(Pipeline(Direction::west_to_east, 1, std::span(&rule, 1)), {.capacity = 16});
  const auto frame = test::roce_frame(1, 1, 918);
  ASSERT_TRUE(link.admit(0, roce::open_envelope(frame), at(0)));
  EXPECT_FALSE(link.asks_for(at(0)).empty());
  EXPECT_NE(link.next_ask(), ReleaseQueue<int>::kNever);
  rule.queue->pfc.reset();
  Link<int>::PreparedPipeline next(
      Pipeline(Direction::west_to_east, 1, std::span(&rule, 1), {}, link.pipeline().rule_names()));
  link.replace(next, at(10));
  EXPECT_EQ(link.next_ask(), ReleaseQueue<int>::kNever);
  link.pause(ask(3, 100), at(20));
  EXPECT_EQ(link.next_release(), at(8000));  // it departs from the queue
  link.release(at(8000));
  EXPECT_EQ(link.next_release(), at(1'008'000));
}

TEST(Pause, FramesThatAreHeardOrMadeAreAccountedFor) {
  const RuleConfig rule = paused_rule();
  Pipeline pipeline(Direction::east_to_west, 1, std::span(&rule, 1));
  EXPECT_TRUE(pipeline.obeyed_pauses());
  test::Recorder ledger;
  Link<int> link(std::move(pipeline), {.capacity = 16, .egress_capacity = 1}, &ledger);
  const auto frame = wire::pfc_frame({}, ask(3, 7));
  link.consume(roce::open_envelope(frame), at(5));
  EXPECT_TRUE(link.create(1, 60, at(6)));
  EXPECT_FALSE(link.create(2, 60, at(7)));
  link.sent(1, at(8));
  link.flush_ledger();
  const Accounting accounting = link.accounting();
  EXPECT_TRUE(accounting.holds());
  EXPECT_EQ(accounting.direction.consumed.frames, 1U);
  EXPECT_EQ(accounting.direction.created.frames, 2U);
  EXPECT_EQ(accounting.direction.sent.frames, 1U);
  ASSERT_EQ(ledger.records().size(), 1U);
  EXPECT_EQ(ledger.records()[0].disposition, Disposition::consumed);
}

}  // namespace pause_test
}  // namespace lw::emulator
