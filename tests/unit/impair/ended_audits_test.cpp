// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/ended_audits.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/stage_runs.h"

namespace lw::impair {
namespace ended_audits_test {

using emulator::Direction;
using emulator::Pipeline;
using emulator::RuleConfig;

RuleConfig rule(double loss, const char* name = "haul") {
  auto config = test::stage_rule();
  config.name = name;
  config.loss = loss;
  return config;
}

Effect at_ms(std::int64_t ms) {
  return {.at = instant_from_ns(1'000'000 * (ms + 5)),
          .zero = instant_from_ns(5'000'000),
          .first_frames = {}};
}

/// A pipeline whose only rule has decided about frames.
Pipeline after_frames(const RuleConfig& config, std::uint64_t frames) {
  Pipeline pipeline(Direction::west_to_east, 1, std::vector{config});
  for (std::uint64_t i = 0; i < frames; ++i)
    static_cast<void>(pipeline.rules()[0].decide(test::bare_arrival(i)));
  return pipeline;
}

TEST(EndedAudits, EachConfigurationHasItsTimeAndItsShare) {
  EndedAudits ended;
  const Pipeline first = after_frames(rule(0.1), 20'000), second = after_frames(rule(0.5), 20'000);
  ended.add(at_ms(3), {&first, nullptr}, std::vector{rule(0.5)});
  ended.add(at_ms(7), {&second, nullptr}, std::vector<RuleConfig>{});
  ASSERT_EQ(ended.audits().size(), 2U);
  const EndedAudit &one = ended.audits()[0], &other = ended.audits()[1];
  EXPECT_EQ(one.begin, Duration{});
  EXPECT_EQ(one.end, std::chrono::milliseconds(3));
  EXPECT_EQ(other.begin, std::chrono::milliseconds(3));
  EXPECT_EQ(other.end, std::chrono::milliseconds(7));
  EXPECT_EQ(one.direction, "west-to-east");
  ASSERT_EQ(one.checks.size(), 1U);
  EXPECT_EQ(one.checks[0].asked, 0.1);
  EXPECT_EQ(other.checks[0].asked, 0.5);
  EXPECT_TRUE(one.checks[0].holds() && other.checks[0].holds());
  EXPECT_TRUE(one.checks[0].enough());
}

TEST(EndedAudits, ARuleThatGoesOnIsNotAudited) {
  EndedAudits ended;
  const Pipeline pipeline = after_frames(rule(0.1), 1000);
  ended.add(at_ms(3), {&pipeline, nullptr}, std::vector{rule(0.3, "other"), rule(0.1)});
  EXPECT_TRUE(ended.audits().empty());
  auto westward = rule(0.1);
  westward.west_to_east = false;
  ended.add(at_ms(4), {&pipeline, nullptr}, std::vector{westward});
  EXPECT_EQ(ended.audits().size(), 1U);
}

TEST(EndedAudits, WithoutFramesThereIsNothingToAudit) {
  EndedAudits ended;
  const Pipeline pipeline = after_frames(rule(0.1), 0);
  ended.add(at_ms(3), {&pipeline, nullptr}, {});
  const Pipeline busy = after_frames(rule(0.1), 1000);
  ended.add({.at = instant_from_ns(5), .zero = {}, .first_frames = {}}, {&busy, nullptr}, {});
  EXPECT_TRUE(ended.audits().empty());
}

TEST(EndedAudits, FewFramesTellNothing) {
  EndedAudits ended;
  const Pipeline pipeline = after_frames(rule(0.5), 5);
  ended.add(at_ms(3), {&pipeline, nullptr}, {});
  ASSERT_EQ(ended.audits().size(), 1U);
  EXPECT_FALSE(ended.audits()[0].checks[0].enough());
}

/// A right stage exceeds them in one of 10^9 checks: they are wider than that of a run's last
/// configuration.
TEST(EndedAudits, BoundsAreThoseOfManyChecks) {
  const Pipeline pipeline = after_frames(rule(0.5), 10'000);
  EndedAudits ended;
  ended.add(at_ms(3), {&pipeline, nullptr}, {});
  const auto& wide = ended.audits()[0].checks[0];
  const auto usual = emulator::audit(rule(0.5), pipeline.rules()[0].stats())[0];
  EXPECT_GT(usual.low, wide.low);
  EXPECT_LT(usual.high, wide.high);
  EXPECT_GE((wide.high - 0.5) / (0.5 / std::sqrt(10'000.0)), 6.0);  // deviations
}

TEST(EndedAudits, ListsSoManyAndCountsTheOthers) {
  EndedAudits ended;
  const Pipeline pipeline = after_frames(rule(0.5), 100);
  for (std::size_t i = 0; i < EndedAudits::kMost + 3; ++i)
    ended.add(at_ms(3), {&pipeline, nullptr}, {});
  EXPECT_EQ(ended.audits().size(), EndedAudits::kMost);
  EXPECT_EQ(ended.further().audits, 3U);
  EXPECT_EQ(ended.further().failed, 0U);
}

}  // namespace ended_audits_test
}  // namespace lw::impair
