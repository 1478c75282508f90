// SPDX-License-Identifier: BSD-3-Clause
// Events and rules together: what is aimed at a packet comes beside what its rule does.
#include <gtest/gtest.h>

#include "emulator/pipeline.h"
#include "support/path_frames.h"

namespace lw::emulator {
namespace pipeline_events_test {

constexpr Instant kNow = instant_from_ns(1'700'000'000'000'000'000);

EventConfig first_request(EventAction action, Duration delay = {}) {
  EventConfig event;
  event.action = action;
  event.delay = delay;
  return event;
}

Decision decide(Pipeline& pipeline, std::span<const std::byte> frame, std::uint64_t number = 0) {
  const auto envelope = roce::open_envelope(frame);
  return pipeline.decide(arrival_of(envelope, number, kNow));
}

TEST(PipelineEvents, AreForPacketsThatNoRuleMatchesToo) {
  const auto drop = first_request(EventAction::drop);
  Pipeline pipeline(Direction::west_to_east, 1, {}, std::span(&drop, 1));
  EXPECT_EQ(decide(pipeline, test::other_frame()).action, Action::pass);
  const auto decision = decide(pipeline, test::roce_frame());
  EXPECT_EQ(decision.action, Action::drop);
  EXPECT_EQ(decision.stage, Stage::event);
  EXPECT_EQ(decision.rule, kUntouched);
  EXPECT_EQ(decide(pipeline, test::roce_frame()).action, Action::pass);
}

TEST(PipelineEvents, ADelayIsAddedToTheRulesAndNeedsTheWheel) {
  RuleConfig rule;
  rule.delay = Duration{1000};
  const auto late = first_request(EventAction::delay, Duration{500});
  Pipeline pipeline(Direction::west_to_east, 1, std::span(&rule, 1), std::span(&late, 1));
  EXPECT_TRUE(pipeline.uses_wheel());
  const auto first = decide(pipeline, test::roce_frame());
  EXPECT_EQ(first.release, kNow + Duration{1500});
  EXPECT_EQ(first.line, kWheel);
  EXPECT_EQ(decide(pipeline, test::roce_frame(), 1).release, kNow + Duration{1000});
}

TEST(PipelineEvents, EditedFramesAreSaidToBe) {
  const auto mark = first_request(EventAction::mark), drop = first_request(EventAction::drop);
  EXPECT_TRUE(Pipeline(Direction::west_to_east, 1, {}, std::span(&mark, 1)).edits());
  EXPECT_FALSE(Pipeline(Direction::west_to_east, 1, {}, std::span(&drop, 1)).edits());
  Pipeline pipeline(Direction::west_to_east, 1, {}, std::span(&mark, 1));
  EXPECT_TRUE(decide(pipeline, test::roce_frame()).mark);
  EXPECT_FALSE(decide(pipeline, test::roce_frame()).mark);
}

TEST(PipelineEvents, EveryPacketThatOneFallsOnIsCarriedOutOrWasLostBefore) {
  RuleConfig rule;
  rule.loss = 0.5;
  std::vector<EventConfig> events;
  for (std::uint64_t n = 1; n <= 100; ++n) {
    events.push_back(first_request(n % 2 ? EventAction::mark : EventAction::drop));
    events.back().occurrence = n;
  }
  Pipeline pipeline(Direction::west_to_east, 1, std::span(&rule, 1), events);
  std::uint64_t carried_out = 0;
  for (std::uint64_t i = 0; i < 300; ++i)
    carried_out += decide(pipeline, test::roce_frame(), i).acted.has(Stage::event) ? 1U : 0U;
  const EventHits hits = pipeline.event_hits();
  EXPECT_EQ(hits.packets, 100U);
  EXPECT_EQ(hits.carried_out, carried_out);
  EXPECT_GT(carried_out, 30U);  // those that were not lost
  EXPECT_LT(carried_out, 70U);
  EXPECT_TRUE(hits.holds());
  Pipeline next(Direction::west_to_east, 1, std::span(&rule, 1), events);
  next.inherit(pipeline, kNow);
  EXPECT_EQ(next.event_hits().packets, 100U);
}

EventConfig nth_to_qp(std::uint32_t qp, std::uint64_t occurrence, bool from_now = false) {
  auto event = first_request(EventAction::drop);
  event.qp = qp;
  event.occurrence = occurrence;
  event.from_now = from_now;
  return event;
}

bool drops(Pipeline& pipeline, std::uint32_t qp, std::uint32_t psn = 7) {
  return decide(pipeline, test::roce_frame(qp, psn)).action == Action::drop;
}

/// An event more, while the first two wait: QPs stay known, and counts go on.
TEST(PipelineEvents, MoreOfThemForgetNothing) {
  std::vector events = {nth_to_qp(1, 4), nth_to_qp(3, 1)};
  Pipeline pipeline(Direction::west_to_east, 1, {}, events);
  for (const std::uint32_t qp : {0x100U, 0x200U, 0x100U}) EXPECT_FALSE(drops(pipeline, qp));
  events.push_back(nth_to_qp(2, 2, true));  // its second packet from now on
  events.push_back(nth_to_qp(1, 1, true));
  Pipeline more(Direction::west_to_east, 1, {}, events);
  more.inherit(pipeline, kNow);
  EXPECT_EQ(more.events().qps(), 2U);
  EXPECT_TRUE(drops(more, 0x100)) << "its third, and the first from now on";
  EXPECT_FALSE(drops(more, 0x200));
  EXPECT_TRUE(drops(more, 0x100)) << "its fourth";
  EXPECT_TRUE(drops(more, 0x200)) << "its second from now on";
  EXPECT_TRUE(drops(more, 0x300)) << "the third QP seen";
  EXPECT_FALSE(more.events().pending());
}

TEST(PipelineEvents, WhatHappenedDoesNotHappenAgain) {
  std::vector events = {nth_to_qp(1, 1)};
  Pipeline pipeline(Direction::west_to_east, 1, {}, events);
  EXPECT_TRUE(drops(pipeline, 0x100));
  events.push_back(nth_to_qp(1, 1, true));
  Pipeline more(Direction::west_to_east, 1, {}, events);
  more.inherit(pipeline, kNow);
  EXPECT_TRUE(drops(more, 0x100));
  EXPECT_FALSE(drops(more, 0x100));
  const auto outcomes = more.events().outcomes();
  ASSERT_EQ(outcomes.size(), 1U) << "of one name";
  EXPECT_EQ(outcomes[0].happened, 2U);
}

/// Other events altogether: the streams' first PSNs are known all the same.
TEST(PipelineEvents, OtherEventsKnowTheQpsThatWereLearnt) {
  const std::vector before = {nth_to_qp(2, 9)};
  Pipeline pipeline(Direction::west_to_east, 1, {}, before);
  EXPECT_FALSE(drops(pipeline, 0x100, 1000));
  EXPECT_FALSE(drops(pipeline, 0x200, 5000));
  auto event = nth_to_qp(2, 1);
  event.psn_from = PsnFrom::start;
  event.psn = 3;
  const std::vector after = {event};
  Pipeline other(Direction::west_to_east, 1, {}, after);
  other.inherit(pipeline, kNow);
  EXPECT_FALSE(drops(other, 0x100, 1003));
  EXPECT_TRUE(drops(other, 0x200, 5003));
}

}  // namespace pipeline_events_test
}  // namespace lw::emulator
