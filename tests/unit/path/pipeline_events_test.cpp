// SPDX-License-Identifier: BSD-3-Clause
// Events and rules together: what is aimed at a packet comes beside what its rule does.
#include <gtest/gtest.h>

#include "path/pipeline.h"
#include "support/path_frames.h"

namespace lw::path {
namespace {

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

}  // namespace
}  // namespace lw::path
