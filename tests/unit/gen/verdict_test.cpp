// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gen/report/run_report.h"
#include "gen/report/sent_counts.h"
#include "gen/tx/capture_run.h"
#include "gen/tx/tx_group.h"
#include "measured.h"
#include "report/figures/json.h"

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
    EXPECT_THAT(judge(holds, all).broken(), IsEmpty()) << holds;
  }
  EXPECT_THAT(judge("p99 = \"< 2ms\"", all).broken(),
              ElementsAre("f: p99 2 ms, expected < 2ms: not met"));
  EXPECT_THAT(judge("p50 = \"1.5ms\"", all).broken(),
              ElementsAre("f: p50 2 ms, expected <= 1.5ms: not met"));
}

/// Frames that are missing at a flow's end leave no gap: only the sender knows of them.
TEST(Verdict, LossAtTheEndIsKnownWhereTheSenderIs) {
  const Measurement short_of_five = received(5);
  EXPECT_THAT(judge("loss = 0", short_of_five).broken(), IsEmpty());
  RunReport sent;
  sent.flows.resize(1);
  sent.flows[0].frames = 100;
  EXPECT_THAT(judge("loss = 0", short_of_five, &sent).broken(),
              ElementsAre("f: loss 5 %, expected <= 0: not met"));
  EXPECT_THAT(judge("loss = \"5%\"", short_of_five, &sent).broken(), IsEmpty());
}

Verdict judge_whole(const std::string& text, const Measurement& measurement) {
  const auto profile = config::parse_flow_profile(text, "test");
  EXPECT_TRUE(profile) << profile.error().message;
  Verdict verdict;
  judge_with_counts(verdict, *profile, measurement, planned_counts(*profile), false);
  return verdict;
}

TEST(Verdict, AFiniteProfileSaysHowManyFramesMustCome) {
  const std::string flow = kFlow;
  EXPECT_TRUE(judge_whole(flow + "[expect]\nloss = 0", received()).holds());
  const Measurement short_of_five = received(5);
  EXPECT_THAT(
      judge_whole(flow + "[expect]\nloss = 0", short_of_five).broken(),
      ElementsAre("f: loss 5 %, expected <= 0: not met", "f: the last 5 of 100 frames never came"));
  EXPECT_TRUE(judge_whole(flow + "[expect]\nloss = \"5%\"", short_of_five).holds());
  EXPECT_THAT(judge_whole(flow + "[expect]\np99 = \"1s\"", short_of_five).broken(),
              ElementsAre("f: the last 5 of 100 frames never came"));
  EXPECT_THAT(judge_whole(flow, Measurement({})).broken(),
              ElementsAre("f: the last 100 of 100 frames never came"));
}

/// Errors of two sums must not cancel: damage before the end says nothing about the end.
TEST(Verdict, DamageBeforeTheEndDoesNotExcuseTheEnd) {
  const auto damaged = [](std::size_t first, std::size_t gone) {
    Measurement measurement({});
    auto frames = test::frames_of_profile(kFlow);
    frames.resize(frames.size() - gone);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (i >= first && i < first + 5) frames[i].bytes.back() ^= std::byte{1};
      measurement.take(frames[i].bytes, frames[i].sent + std::chrono::milliseconds(2));
    }
    return measurement;
  };
  EXPECT_THAT(judge_whole(kFlow, damaged(10, 5)).broken(),
              ElementsAre("f: the last 5 of 100 frames never came"));
  EXPECT_TRUE(judge_whole(kFlow, damaged(95, 0)).holds());
  EXPECT_THAT(judge_whole(kFlow, damaged(90, 5)).broken(),
              ElementsAre("f: the last 5 of 100 frames never came"));
}

TEST(Verdict, TheEndOfAnEndlessFlowCannotBeJudged) {
  const Verdict verdict = judge_whole(std::string(kFlow) + "repeat = \"forever\"", received());
  EXPECT_TRUE(verdict.holds());
  ASSERT_EQ(verdict.not_judged.size(), 1u);
  EXPECT_TRUE(verdict.not_judged[0].starts_with("the end of f, as it repeats forever: --sent"))
      << verdict.not_judged[0];
}

/// What is counted from the profile is what the scheduler sends.
TEST(SentCounts, AreThoseOfARun) {
  for (const char* text :
       {"messages = 7\nrepeat = 3\nmessage_size = 4000", "message_size = [10, 5000, 20]",
        "message_size = { min = 1, max = 9000 }\nmessages = 500",
        "messages = 100000\nstop_after = \"1ms\"", "message_size = 0\nmessages = 5",
        "message_size = 4100\nqps = 3\nfault = [{ kind = \"truncated_bth\", rate = \"10%\" }]"}) {
    const auto profile =
        config::parse_flow_profile("[[flow]]\nsignature = true\n" + std::string(text), "test");
    ASSERT_TRUE(profile) << profile.error().message;
    TxScheduler scheduler(*profile);
    std::vector<FlowCounters> sent(profile->flows.size());
    for (; scheduler.next(); scheduler.advance()) {
      const std::size_t flow = scheduler.next()->flow;
      count_sent(sent[flow], frame_info(scheduler.cursor(flow)), 1);
    }
    const SentCounts planned = planned_counts(*profile);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      ASSERT_TRUE(planned[i]) << text;
      EXPECT_EQ(planned[i]->frames, sent[i].frames) << text;
      EXPECT_EQ(planned[i]->unsigned_frames, sent[i].unsigned_frames) << text;
    }
  }
}

TEST(SentCounts, AreReadFromTheSendersReport) {
  const auto profile =
      config::parse_flow_profile("[[flow]]\nname = \"a\"\n[[flow]]\nname = \"b\"\nqps = 2", "test");
  RunReport report;
  report.flows.resize(3);
  for (std::size_t i = 0; i < 3; ++i) report.flows[i].frames = 10 + i;
  report.flows[2].unsigned_frames = 2;
  const std::string text = report::json_line(kSendOutput, RunSummary(*profile, report, nullptr));
  const auto counts = parse_sent_counts(text, "r.json", *profile);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->at(0)->frames, 10u);
  EXPECT_EQ(counts->at(2)->frames, 12u);
  EXPECT_EQ(counts->at(2)->unsigned_frames, 2u);
  const auto other = config::parse_flow_profile("[[flow]]\nname = \"x\"", "other");
  const auto refused = parse_sent_counts(text, "r.json", *other);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with(
      "r.json: expected the report of a sender of profile \"other\", found flow \"a\""))
      << refused.error().message;
  EXPECT_FALSE(parse_sent_counts("{}", "r.json", *profile));
  EXPECT_FALSE(parse_sent_counts("nonsense", "r.json", *profile));
}

TEST(Verdict, AFlowThatNeverCameBreaksABoundOnLoss) {
  const Measurement nothing({});
  EXPECT_THAT(judge("loss = \"100%\"", nothing).broken(), ElementsAre("f: no signed frame of it came"));
  EXPECT_THAT(judge("p99 = \"1ms\"", nothing).broken(), IsEmpty());
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
  EXPECT_THAT(verdict.broken(), ElementsAre("f: not_sent 1 %, expected <= 0: not met"));
  sent.flows[0].span = std::chrono::milliseconds(1050);
  sent.audit.pacing_error.add(5000);
  judge_sent(verdict, profile, sent);
  EXPECT_EQ(verdict.broken().size(), 4u);
  note_unchecked(verdict, profile, true, false);
  EXPECT_THAT(verdict.unchecked, ElementsAre("loss"));
}

/// 100 frames stamped by one clock and timed by another, `ago` after they were sent.
Measurement timed(std::uint8_t sender, std::uint8_t receiver, Duration ago) {
  Measurement measurement({.icrc_every = 1, .join = false, .clock = receiver});
  for (const auto& frame : test::frames_of_profile(kFlow, {.run = 1, .clock = sender}))
    measurement.take(frame.bytes, frame.sent + ago);
  return measurement;
}

TEST(Verdict, LatenciesNeedOneClock) {
  using std::chrono::milliseconds;
  const std::string bound = "p99 = \"1s\"\np50 = \"1s\"\njitter = \"1s\"\nloss = 0";
  EXPECT_THAT(judge(bound, timed(2, 2, milliseconds(1))).broken(), IsEmpty());
  EXPECT_THAT(judge(bound, timed(0, 70, milliseconds(1))).broken(), IsEmpty());  // an old sender
  EXPECT_THAT(
      judge(bound, timed(2, 70, milliseconds(1))).broken(),
      ElementsAre("f: the latency can't be judged: its frames are stamped by CLOCK_TAI, and "
                  "their arrival is timed by the steady clock of machine 70: give --clock "
                  "tai or --clock ptp at both ends"));
  EXPECT_EQ(judge(bound, timed(70, 71, milliseconds(1))).broken().size(), 1u);
  EXPECT_THAT(
      judge(bound, timed(2, 2, milliseconds(-1))).broken(),
      ElementsAre("f: the latency can't be judged: the smallest latency is -1 ms: the clocks "
                  "of the two ends differ"));
  // Two machines with the same number: one booted two hours before the other.
  EXPECT_EQ(judge(bound, timed(70, 70, std::chrono::hours(2))).broken().size(), 1u);
  EXPECT_THAT(judge(bound, timed(70, 70, milliseconds(1))).broken(), IsEmpty());
  EXPECT_THAT(judge("loss = 0", timed(2, 70, milliseconds(1))).broken(), IsEmpty());
}

TEST(Expect, MistakesHaveTheirPlaces) {
  for (const char* wrong :
       {"loss = 1.5", "loss = \"< 0\"", "p99 = 5", "p999 = \"1ms\"", "rate_error = \"x\""}) {
    const auto profile =
        config::parse_flow_profile(std::string("[[flow]]\n[expect]\n") + wrong, "test");
    ASSERT_FALSE(profile) << wrong;
    EXPECT_TRUE(profile.error().message.starts_with("test:3:")) << profile.error().message;
  }
}

}  // namespace
}  // namespace lw::gen
