// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/flow/questions.h"
#include "gen/report/live_verdict.h"
#include "gen/report/run_report.h"
#include "gen/report/run_verdict.h"
#include "gen/report/sent_counts.h"
#include "gen/tx/capture_run.h"
#include "gen/tx/tx_group.h"
#include "measured.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kFlow = "[[flow]]\nname = \"f\"\nsignature = true\nmessages = 100\n";

config::FlowProfile profile_of(const std::string& text) {
  auto profile = config::parse_flow_profile(text, "test");
  EXPECT_TRUE(profile) << profile.error().message;
  return std::move(*profile);
}

/// The sentences of the red statements.
std::vector<std::string> broken(const Verdict& verdict) {
  std::vector<std::string> sentences;
  for (const Judgement& each : verdict.all())
    if (each.colour() == Colour::red) sentences.push_back(each.sentence());
  return sentences;
}

/// The only statement of this name.
Judgement statement(const Verdict& verdict, std::string_view name) {
  const auto found = std::ranges::find(verdict.all(), name, &Judgement::name);
  return found == verdict.all().end() ? Judgement{} : *found;
}

/// The verdict of a receiver that knows the profile of the sender.
Verdict judge_whole(const std::string& text, const Measurement& measurement, bool joined = false) {
  const config::FlowProfile profile = profile_of(text);
  const std::vector<AbsentFlow> absent = absent_flows(profile, measurement);
  auto rows = flow_rows(measurement, names_in(profile), absent);
  set_sent(rows, profile, planned_counts(profile), joined);
  Judge judge(config::kReceiveQuestions, profile.expect);
  observe_received(judge, measurement, rows, true);
  return judge.finish();
}

Verdict judge(const std::string& expect, const Measurement& measurement) {
  return judge_whole(kFlow + ("[expect]\n" + expect), measurement);
}

/// 100 frames but `lost` of the last ones, each 2 ms after it was sent.
Measurement received(std::size_t lost = 0) {
  Measurement measurement({});
  auto frames = test::frames_of_profile(kFlow);
  frames.resize(frames.size() - lost);
  for (const auto& frame : frames)
    measurement.count_frame(frame.bytes, frame.sent + milliseconds(2));
  return measurement;
}

TEST(Verdict, ABoundHoldsAtItsLimitUnlessItIsStrict) {
  const Measurement all = received();
  for (const char* holds : {"p90 = \"2ms\"", "p90 = \"<= 2ms\"", "p50 = \"<2.1ms\"", "loss = 0",
                            "latency_max = \"< 3 ms\"", "jitter = \"0ns\"", "bad_icrc = \"0%\""})
    EXPECT_EQ(judge(holds, all).colour(), Colour::green) << judge(holds, all).headline();
  EXPECT_THAT(broken(judge("p99 = \"< 2ms\"", all)),
              ElementsAre("does not hold: f: p99 2 ms; asked: p99 < 2ms (test:6:7)"));
  EXPECT_THAT(broken(judge("p50 = \"1.5ms\"", all)),
              ElementsAre("does not hold: f: p50 2 ms; asked: p50 <= 1.5ms (test:6:7)"));
}

/// Frames that are missing at a flow's end leave no gap: only the sender knows of them.
TEST(Verdict, AFiniteProfileSaysHowManyFramesMustCome) {
  EXPECT_EQ(judge_whole(kFlow, received()).colour(), Colour::green);
  const Measurement short_of_five = received(5);
  EXPECT_THAT(broken(judge_whole(kFlow, short_of_five)),
              ElementsAre("does not hold: 5 of 100 frames never came (5 %)"));
  EXPECT_THAT(broken(judge("loss = 0", short_of_five)),
              ElementsAre("does not hold: f: 5 of 100 frames never came (5 %); asked: loss <= 0 "
                          "(test:6:8)"));
  EXPECT_EQ(judge("loss = \"5%\"", short_of_five).colour(), Colour::green);
  EXPECT_THAT(broken(judge("loss = \"4.9%\"", short_of_five)), testing::SizeIs(1));
  EXPECT_THAT(broken(judge_whole(kFlow, Measurement({}))),
              ElementsAre("does not hold: 100 of 100 frames never came (100 %)"));
}

TEST(Verdict, AReceiverWithoutAProfileShowsWhatIsLost) {
  Measurement measurement({});
  const auto frames = test::frames_of_profile(kFlow);
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (i != 50) measurement.count_frame(frames[i].bytes, frames[i].sent + milliseconds(2));
  const auto rows = flow_rows(measurement, {}, {});
  Judge plain(config::kReceiveQuestions, {});
  observe_received(plain, measurement, rows, false);
  const Verdict noted = plain.finish();
  EXPECT_EQ(noted.colour(), Colour::amber);
  EXPECT_THAT(noted.headline(), HasSubstr("note: 1 of 100 frames never came (1 %)"));
  Judge asked(config::kReceiveQuestions, {*parse_expectation("loss==0")});
  observe_received(asked, measurement, rows, false);
  EXPECT_EQ(asked.finish().exit(), ExitCode::failed);
}

/// Errors of two sums must not cancel: damage before the end says nothing about the end.
TEST(Verdict, DamageBeforeTheEndDoesNotExcuseTheEnd) {
  const auto damaged = [](std::size_t first, std::size_t gone) {
    Measurement measurement({});
    auto frames = test::frames_of_profile(kFlow);
    frames.resize(frames.size() - gone);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (i >= first && i < first + 5) frames[i].bytes.back() ^= std::byte{1};
      measurement.count_frame(frames[i].bytes, frames[i].sent + milliseconds(2));
    }
    return measurement;
  };
  const auto lost = [](const Verdict& verdict) { return statement(verdict, "loss").observed; };
  EXPECT_THAT(lost(judge_whole(kFlow, damaged(10, 5))), HasSubstr("of 100 frames never came"));
  EXPECT_EQ(judge_whole(kFlow, damaged(10, 5)).exit(), ExitCode::failed);
  EXPECT_EQ(judge_whole(kFlow, damaged(90, 5)).exit(), ExitCode::failed);
}

TEST(Verdict, TheEndOfAnEndlessFlowCannotBeTold) {
  const std::string endless = std::string(kFlow) + "repeat = \"forever\"\n";
  const Verdict verdict = judge_whole(endless, received());
  EXPECT_EQ(verdict.colour(), Colour::amber);
  EXPECT_EQ(statement(verdict, "loss").holds, Holds::unknown);
  EXPECT_THAT(statement(verdict, "loss").reason, HasSubstr("it repeats forever"));
  // Asked for explicitly, it is a failure.
  EXPECT_EQ(judge_whole(endless + "[expect]\nloss = \"1%\"", received()).exit(), ExitCode::failed);
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
  EXPECT_THAT(broken(judge("loss = \"99%\"", nothing)), testing::SizeIs(1));
  // A bound on the latency of no frame cannot be judged.
  const Verdict latency = judge("p99 = \"1ms\"\nloss = \"100%\"", nothing);
  EXPECT_THAT(broken(latency), ElementsAre(HasSubstr("cannot tell: p99 none")));
}

/// What a sender of 100 frames in 100 ms observes.
RunReport sent_report() {
  RunReport sent;
  sent.flows.resize(1);
  sent.flows[0].frames = 100;
  sent.flows[0].wire_bytes = 12'500'000;  // 1 Gb/s, as asked
  sent.flows[0].span = milliseconds(100);
  sent.elapsed = milliseconds(100);
  sent.ports.resize(1);
  return sent;
}

Verdict judge_sent(const RunReport& sent, const std::string& expect = "") {
  const config::FlowProfile profile = profile_of(kFlow + ("[expect]\n" + expect));
  Judge judge(config::kRunQuestions, profile.expect);
  observe_sent(judge, profile, sent);
  return judge.finish();
}

TEST(Verdict, ASenderIsHeldToItsRate) {
  RunReport sent = sent_report();
  EXPECT_EQ(judge_sent(sent).colour(), Colour::green);
  sent.pace.behind = milliseconds(76);
  EXPECT_THAT(broken(judge_sent(sent)),
              ElementsAre(HasSubstr(
                  "does not hold: sent 24 % of the rate asked for: 240.0 Mb/s of 1.00 Gb/s")));
  EXPECT_EQ(judge_sent(sent, "rate = \">= 20%\"").colour(), Colour::green);
  // A second in which little was sent is shown.
  sent.pace = {.behind = Duration{}, .worst_second = 0.5, .worst_at = std::chrono::seconds(3)};
  const Verdict worst = judge_sent(sent);
  EXPECT_EQ(worst.colour(), Colour::amber);
  EXPECT_THAT(worst.headline(), HasSubstr("in its worst second, 3 s after the start, 50 %"));
}

TEST(Verdict, TheRateOfAShortRunCannotBeTold) {
  RunReport sent = sent_report();
  sent.pace.behind = milliseconds(5);
  EXPECT_EQ(statement(judge_sent(sent), "rate").holds, Holds::unknown);
  EXPECT_EQ(judge_sent(sent).exit(), ExitCode::done);
  EXPECT_EQ(judge_sent(sent, "rate = \">= 99%\"").exit(), ExitCode::failed);
  EXPECT_EQ(judge_sent(sent, "rate = \">= 90%\"").exit(), ExitCode::done);
}

TEST(Verdict, ARunSaysWhatEndedIt) {
  RunReport sent = sent_report();
  EXPECT_EQ(statement(judge_sent(sent), "reached").observed, "sent all 100 frames of the profile");
  sent.duration = std::chrono::seconds(14);
  const Judgement early = statement(judge_sent(sent), "reached");
  EXPECT_EQ(early.colour(), Colour::amber);  // the profile's own number of messages
  EXPECT_THAT(early.reason, HasSubstr("it took 100 ms of 14 s"));
  sent.ended_by = EndedBy::signal;
  EXPECT_EQ(judge_sent(sent).exit(), ExitCode::failed);  // 14 s were asked for
  sent.duration.reset();
  EXPECT_EQ(judge_sent(sent).exit(), ExitCode::done);  // the usual end
  EXPECT_EQ(statement(judge_sent(sent), "reached").colour(), Colour::amber);
  sent.ended_by = EndedBy::failure;
  sent.interrupted = "interface a is gone";
  EXPECT_THAT(broken(judge_sent(sent)), ElementsAre(HasSubstr("interface a is gone")));
}

TEST(Verdict, AnIcrcOfOursThatIsWrongFails) {
  RunReport sent = sent_report();
  sent.audit.icrc_checked = 10;
  EXPECT_EQ(judge_sent(sent).colour(), Colour::green);
  sent.audit.bad_icrc = 1;
  EXPECT_THAT(broken(judge_sent(sent)),
              ElementsAre("does not hold: 1 of 10 outgoing ICRCs computed anew were wrong"));
}

TEST(Verdict, ASenderHasFiguresThatOnlyExpectationsAskFor) {
  RunReport sent = sent_report();
  sent.flows[0].frames = 99;
  sent.flows[0].not_sent = 1;
  sent.audit.pacing_error.add(5000);
  EXPECT_EQ(judge_sent(sent).colour(), Colour::green);
  EXPECT_THAT(
      broken(judge_sent(sent, "not_sent = 0\npacing_p99 = \"1us\"")),
      testing::UnorderedElementsAre(HasSubstr("f: not_sent 1 %"), HasSubstr("pacing_p99 5")));
}

/// 100 frames stamped by one clock and timed by another, `ago` after they were sent.
Measurement timed(std::uint8_t sender, std::uint8_t receiver, Duration ago) {
  Measurement measurement({.icrc_every = 1, .join = false, .clock = receiver});
  for (const auto& frame : test::frames_of_profile(kFlow, {.run = 1, .clock = sender}))
    measurement.count_frame(frame.bytes, frame.sent + ago);
  return measurement;
}

TEST(Verdict, LatenciesNeedOneClock) {
  const std::string bound = "p99 = \"1s\"\np50 = \"1s\"\njitter = \"1s\"\nloss = 0";
  EXPECT_THAT(broken(judge(bound, timed(2, 2, milliseconds(1)))), IsEmpty());
  EXPECT_THAT(broken(judge(bound, timed(0, 70, milliseconds(1)))), IsEmpty());  // an old sender
  const auto other_clock = broken(judge(bound, timed(2, 70, milliseconds(1))));
  ASSERT_EQ(other_clock.size(), 3u);
  EXPECT_THAT(other_clock[0], HasSubstr("cannot tell: f: "));
  EXPECT_THAT(
      other_clock[0],
      HasSubstr("its frames are stamped by CLOCK_TAI, and their arrival is timed by the "
                "steady clock of machine 70: give --clock tai or --clock ptp at both ends"));
  EXPECT_EQ(broken(judge(bound, timed(70, 71, milliseconds(1)))).size(), 3u);
  EXPECT_THAT(broken(judge(bound, timed(2, 2, milliseconds(-1)))),
              testing::Contains(HasSubstr("the smallest latency is -1 ms: the clocks of the two "
                                          "ends differ")));
  // Two machines with the same number: one booted two hours before the other.
  EXPECT_EQ(broken(judge(bound, timed(70, 70, std::chrono::hours(2)))).size(), 3u);
  EXPECT_THAT(broken(judge("loss = 0", timed(2, 70, milliseconds(1)))), IsEmpty());
  // Without a bound it is shown.
  EXPECT_EQ(judge_whole(kFlow, timed(2, 70, milliseconds(1))).colour(), Colour::amber);
}

/// 9 of 20 latencies cannot be compared: of another clock, or from before the frame was sent.
TEST(Verdict, ABoundOverSamplesThatWereLeftOutCannotBeTold) {
  for (const bool other_clock : {true, false}) {
    Measurement measurement({});
    const auto frames = test::frames_of_profile(kFlow);
    for (std::size_t i = 0; i < 20; ++i) {
      const bool wrong = i < 9;
      const Duration latency = milliseconds(wrong ? -1 : 2);
      measurement.count_frame(frames[i].bytes, frames[i].sent + latency, !(wrong && other_clock));
    }
    const Verdict verdict = judge("latency_max = \"1s\"\nloss = \"80%\"", measurement);
    EXPECT_EQ(verdict.exit(), ExitCode::failed);
    EXPECT_THAT(broken(verdict), testing::Contains(HasSubstr("cannot tell: f: latency_max")));
  }
}

TEST(LiveVerdict, AFrameOnItsWayIsNotLost) {
  FlowProgress all{.sent_frames = 100, .received_frames = 90};
  all.is_sent = all.is_received = true;
  const auto live = [&](bool ended, bool knows) {
    return verdict_of(
        {.all = all, .elapsed = std::chrono::seconds(1), .knows_sender = knows, .ended = ended});
  };
  EXPECT_EQ(live(false, true).colour(), Colour::green);
  EXPECT_EQ(live(true, true).colour(), Colour::red);
  EXPECT_THAT(live(true, true).headline(), HasSubstr("10 of 100 frames never came (10 %)"));
  EXPECT_EQ(live(true, false).colour(), Colour::amber);
}

TEST(LiveVerdict, ShowsTheRateAndWhatThisMachineLost) {
  FlowProgress all{.sent_frames = 100};
  all.is_sent = true;
  const std::vector<OwnLoss> losses = {
      {.place = "port a", .how = "before it received them", .lost = 5, .frames = 10}};
  PacingSoFar pacing;
  pacing.behind = milliseconds(760);
  const Verdict verdict = verdict_of(
      {.all = all, .pacing = pacing, .elapsed = std::chrono::seconds(1), .losses = losses});
  EXPECT_EQ(verdict.colour(), Colour::red);
  EXPECT_THAT(broken(verdict), ElementsAre(HasSubstr("sent 24 % of the rate asked for"),
                                           HasSubstr("this machine lost 5 of 10 frames")));
}

TEST(Expect, MistakesHaveTheirPlaces) {
  for (const char* wrong : {"loss = 1.5", "loss = 0.1", "loss = \"< 0\"", "p99 = 5",
                            "p999 = \"1ms\"", "rate_error = \"x\""}) {
    const auto profile =
        config::parse_flow_profile(std::string("[[flow]]\n[expect]\n") + wrong, "test");
    ASSERT_FALSE(profile) << wrong;
    EXPECT_TRUE(profile.error().message.starts_with("test:3:")) << profile.error().message;
  }
}

}  // namespace
}  // namespace lw::gen
