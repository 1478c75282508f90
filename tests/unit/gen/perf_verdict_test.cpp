// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gen/perf/report/perf_report.h"
#include "gen/questions.h"

namespace lw::gen {
namespace {

using testing::HasSubstr;

/// A run of 1000 messages at 10 Gb/s through a port.
PerfOutcome through_a_port() {
  PerfOutcome outcome;
  outcome.bandwidth.messages = 1000;
  outcome.bandwidth.bytes = 1 << 20;
  outcome.bandwidth.average_bps = 10e9;
  outcome.bandwidth.packets = 4000;
  outcome.port.emplace();
  return outcome;
}

/// A run of 1000 messages through a simulated path.
PerfOutcome simulated() {
  PerfOutcome outcome = through_a_port();
  outcome.port.reset();
  return outcome;
}

/// The statement of a name.
Judgement judged(const PerfOutcome& outcome, std::string_view name, const char* expect = "",
                 bool endless = false) {
  const perf::PerfConfig config;
  std::vector<Expectation> expectations;
  if (*expect != 0) expectations.push_back(*parse_expectation(expect));
  Judge judge(kPerfQuestions, std::move(expectations));
  observe_perf(judge, {config, outcome, perf::PerfPattern::bw}, endless);
  const Verdict verdict = judge.finish();
  const auto found = std::ranges::find(verdict.all(), name, &Judgement::name);
  EXPECT_NE(found, verdict.all().end()) << name;
  return found == verdict.all().end() ? Judgement{} : *found;
}

TEST(PerfVerdict, ARunThatMovesPayloadHolds) {
  for (const char* name : {"goodput", "failed", "stuck", "wrong", "resent", "reached"})
    EXPECT_EQ(judged(through_a_port(), name).colour(), Colour::green) << name;
}

TEST(PerfVerdict, NoPayloadFails) {
  PerfOutcome outcome = simulated();
  outcome.bandwidth.messages = 0;
  outcome.bandwidth.average_bps = 0;
  EXPECT_EQ(judged(outcome, "goodput").exit(), ExitCode::failed);
  EXPECT_EQ(judged(outcome, "goodput").observed, "no message was completed");
}

TEST(PerfVerdict, FailuresFail) {
  PerfOutcome outcome = through_a_port();
  outcome.bandwidth.failed = 3;
  outcome.bandwidth.stuck_qps = 2;
  outcome.wrong = 1;
  EXPECT_EQ(judged(outcome, "failed").colour(), Colour::red);
  EXPECT_THAT(judged(outcome, "failed").observed, HasSubstr("3 work requests failed"));
  EXPECT_THAT(judged(outcome, "stuck").sentence(), HasSubstr("does not hold: 2 QPs wait for ever"));
  EXPECT_EQ(judged(outcome, "wrong").colour(), Colour::red);
}

TEST(PerfVerdict, PacketsSentAgainAreShown) {
  PerfOutcome outcome = through_a_port();
  outcome.bandwidth.packets = 19'527;
  outcome.bandwidth.retransmitted = 11'527;
  const Judgement resent = judged(outcome, "resent");
  EXPECT_EQ(resent.colour(), Colour::amber);
  EXPECT_THAT(resent.sentence(), HasSubstr("note: 11,527 of 19,527 packets retransmitted (59 %)"));
  EXPECT_EQ(judged(outcome, "resent", "resent<=10%").exit(), ExitCode::failed);
  EXPECT_EQ(judged(outcome, "resent", "resent<=60%").colour(), Colour::green);
}

TEST(PerfVerdict, MessagesThatDidNotArriveAreLoss) {
  PerfOutcome outcome = through_a_port();
  outcome.lost_messages = 100;
  EXPECT_EQ(judged(outcome, "loss").exit(), ExitCode::failed);
  EXPECT_EQ(judged(outcome, "loss", "loss<=10%").colour(), Colour::green);
  // A simulated path loses what it was asked to lose.
  PerfOutcome sim = simulated();
  sim.lost_messages = 100;
  EXPECT_EQ(judged(sim, "loss").colour(), Colour::amber);
  // Nobody counts plain WRITEs of UC.
  outcome.lost_messages.reset();
  outcome.arrivals_unknown = true;
  EXPECT_EQ(judged(outcome, "loss").holds, Holds::unknown);
  EXPECT_EQ(judged(outcome, "loss").exit(), ExitCode::done);
  EXPECT_EQ(judged(outcome, "loss", "loss<=1%").exit(), ExitCode::failed);
}

TEST(PerfVerdict, ASignalEndsARunEarlyUnlessItIsEndless) {
  PerfOutcome outcome = through_a_port();
  outcome.bandwidth.stopped = true;
  EXPECT_EQ(judged(outcome, "reached").exit(), ExitCode::failed);
  EXPECT_EQ(judged(outcome, "reached", "", true).colour(), Colour::amber);
}

TEST(PerfVerdict, WhatTheMachineLostIsToldApart) {
  PerfOutcome outcome = through_a_port();
  outcome.machine = Machine{
      .losses = {{.place = "port a", .how = "before it read them", .lost = 50, .frames = 1000}}};
  EXPECT_THAT(judged(outcome, "machine").sentence(),
              HasSubstr("does not hold: this machine lost 50 of 1,000 frames (5 %) at port a"));
}

}  // namespace
}  // namespace lw::gen
