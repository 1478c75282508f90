// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gen/report/run_report.h"
#include "gen/tx/capture_run.h"
#include "measured.h"

namespace lw::gen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kFlow = "[[flow]]\nname = \"f\"\nsignature = true\nmessages = 100\n";

config::FlowProfile profile_of(const std::string& expect) {
  auto profile = config::parse_flow_profile(kFlow + ("[expect]\n" + expect), "test");
  EXPECT_TRUE(profile) << profile.error().message;
  return std::move(*profile);
}

Verdict judge(const std::string& expect, const Measurement& measurement,
              const RunReport* sent = nullptr) {
  Verdict verdict;
  judge_received(verdict, profile_of(expect), measurement, sent);
  return verdict;
}

/// 100 frames but `lost` of the last ones, each 2 ms after it was sent.
Measurement received(std::size_t lost = 0) {
  Measurement measurement({});
  auto frames = test::frames_of_profile(kFlow);
  frames.resize(frames.size() - lost);
  for (const auto& frame : frames) {
    measurement.take(frame.bytes, frame.sent + std::chrono::milliseconds(2));
  }
  return measurement;
}

TEST(Verdict, ABoundHoldsAtItsLimitUnlessItIsStrict) {
  const Measurement all = received();
  for (const char* holds : {"p99 = \"2ms\"", "p99 = \"<= 2ms\"", "p50 = \"<2.1ms\"", "loss = 0",
                            "latency_max = \"< 3 ms\"", "jitter = \"0ns\"", "bad_icrc = \"0%\""}) {
    EXPECT_THAT(judge(holds, all).broken, IsEmpty()) << holds;
  }
  EXPECT_THAT(judge("p99 = \"< 2ms\"", all).broken, ElementsAre("f: p99 is 2 ms, expected < 2 ms"));
  EXPECT_THAT(judge("p50 = \"1.5ms\"", all).broken,
              ElementsAre("f: p50 is 2 ms, expected <= 1.5 ms"));
}

/// Frames that are missing at a flow's end leave no gap: only the sender knows of them.
TEST(Verdict, LossAtTheEndIsKnownWhereTheSenderIs) {
  const Measurement short_of_five = received(5);
  EXPECT_THAT(judge("loss = 0", short_of_five).broken, IsEmpty());
  RunReport sent;
  sent.flows.resize(1);
  sent.flows[0].frames = 100;
  EXPECT_THAT(judge("loss = 0", short_of_five, &sent).broken,
              ElementsAre("f: loss is 5 %, expected <= 0 %"));
  EXPECT_THAT(judge("loss = \"5%\"", short_of_five, &sent).broken, IsEmpty());
}

TEST(Verdict, AFlowThatNeverCameBreaksABoundOnLoss) {
  const Measurement nothing({});
  EXPECT_THAT(judge("loss = 1", nothing).broken, ElementsAre("f: no signed frame of it came"));
  EXPECT_THAT(judge("p99 = \"1ms\"", nothing).broken, IsEmpty());
}

TEST(Verdict, ASenderIsHeldToItsRateAndItsFrames) {
  const auto profile =
      profile_of("rate_error = \"1%\"\nnot_sent = 0\npacing_p99 = \"1us\"\nloss = 0");
  RunReport sent;
  sent.flows.resize(1);
  sent.flows[0].frames = 99;
  sent.flows[0].not_sent = 1;
  sent.flows[0].wire_bytes = 125'000'000;  // 1 Gb/s, as asked
  sent.flows[0].span = std::chrono::milliseconds(1005);
  Verdict verdict;
  judge_sent(verdict, profile, sent);
  EXPECT_THAT(verdict.broken, ElementsAre("f: not_sent is 1 %, expected <= 0 %"));
  sent.flows[0].span = std::chrono::milliseconds(1050);
  sent.audit.pacing_error.add(5000);
  judge_sent(verdict, profile, sent);
  EXPECT_EQ(verdict.broken.size(), 4u);
  note_unchecked(verdict, profile, true, false);
  EXPECT_THAT(verdict.unchecked, ElementsAre("loss"));
}

TEST(Expect, MistakesHaveTheirPlaces) {
  for (const char* wrong : {"loss = 1.5", "loss = \"< 0\"", "p99 = 5", "p99 = \"> 5ms\"",
                            "p999 = \"1ms\"", "rate_error = \"x\""}) {
    const auto profile =
        config::parse_flow_profile(std::string("[[flow]]\n[expect]\n") + wrong, "test");
    ASSERT_FALSE(profile) << wrong;
    EXPECT_TRUE(profile.error().message.starts_with("test:3:")) << profile.error().message;
  }
}

}  // namespace
}  // namespace lw::gen
