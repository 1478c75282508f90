// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "impair/report/run_rows.h"
#include "impair/report/run_verdict.h"
#include "report/figures/json.h"
#include "unit/impair/sound_report.h"

namespace lw::impair {
namespace report_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// The sentences of the statements of a colour.
std::vector<std::string> sentences(const Report& report, Colour colour) {
  std::vector<std::string> found;
  const Verdict verdict = verdict_of(report);
  for (const Judgement& each : verdict.all())
    if (each.colour() == colour) found.push_back(each.sentence());
  return found;
}

std::vector<std::string> broken(const Report& report) { return sentences(report, Colour::red); }

TEST(Report, JsonHoldsTheBooksAndTheVerdict) {
  const auto json = report::json_of(sound_report());
  EXPECT_EQ(json["identity_holds"], true);
  const auto& east = json["directions"][0];
  EXPECT_EQ(east["name"], "west-to-east");
  EXPECT_EQ(east["received"]["frames"], 10);
  EXPECT_EQ(east["dropped_for_resource"]["link_down"]["bytes"], 100);
  EXPECT_EQ(east["in_flight"]["frames"], 2);
  EXPECT_EQ(east["release_error_ns"]["p99_9"], 4);
  EXPECT_EQ(east["rules"][0]["name"], "haul");
}

TEST(Report, RunsOfLossesGoAsFarAsThereWereAny) {
  Report report = sound_report();
  emulator::RuleStats& stats = report.directions[0].stages.emplace_back().stats;
  const auto runs = [&] {
    return report::json_of(report)["directions"][0]["stages"][0]["loss"]["runs"];
  };
  EXPECT_EQ(runs().dump(), "[]");
  stats.loss.runs[2] = 5;
  EXPECT_EQ(runs().dump(), "[0,0,5]");
  stats.traced.runs.back() = 1;
  EXPECT_EQ(runs().size(), emulator::LossStats::kRuns);
}

TEST(Report, BooksThatDoNotAddUpAreNotHidden) {
  Report report = sound_report();
  report.directions[0].accounting.rules[0].sent.frames = 7;
  EXPECT_THAT(broken(report), ElementsAre(HasSubstr("the accounts do not add up")));
  EXPECT_EQ(report::json_of(report)["identity_holds"], false);
}

TEST(Report, ThePageHasTheBooksAndWhatHolds) {
  Report report = sound_report();
  report::RunRows rows = page_rows(report);
  ASSERT_EQ(rows.accounts.size(), 1U);
  ASSERT_FALSE(rows.accounts[0].rows.empty());
  for (const auto& row : rows.accounts[0].rows) {
    ASSERT_EQ(row.size(), rows.accounts[0].columns.size());
    EXPECT_EQ(row.back(), true);
  }
  EXPECT_EQ(rows.accounts[0].rows[1][0], "west-to-east, haul");
  report.directions[0].accounting.rules[0].sent.frames = 7;
  rows = page_rows(report);
  EXPECT_EQ(rows.accounts[0].rows[0].back(), false);
}

TEST(Report, ThePageHasEachStagesStatisticsBesideItsParameters) {
  Report report = sound_report();
  report.directions[0].stages.push_back({.rule = "haul",
                                         .stats = {},
                                         .checks = {{.stage = emulator::Stage::loss,
                                                     .what = "lost",
                                                     .frames = 10,
                                                     .asked = 0.5,
                                                     .seen = 0.25,
                                                     .low = 0.3,
                                                     .high = 0.7}}});
  const report::RequestedRow row = page_rows(report).requested.at(0);
  EXPECT_EQ(row.what, "west-to-east, haul: loss lost, of 10 frames");
  EXPECT_EQ(row.requested, "50 %");
  EXPECT_EQ(row.measured, "25 % (allowed: 30 % to 70 %)");
  EXPECT_EQ(row.holds, false);
  report.directions[0].stages[0].checks[0].low = 0;
  report.directions[0].stages[0].checks[0].high = 1;
  EXPECT_EQ(page_rows(report).requested.at(0).holds, std::nullopt);  // too few frames
}

TEST(Report, TextNamesReasonsThatHappenedAndNoOthers) {
  const std::string text = to_text(sound_report());
  EXPECT_THAT(text, HasSubstr("link_down"));
  EXPECT_THAT(text, Not(HasSubstr("egress_full")));
}

TEST(Report, QuantilesOfAHistogram) {
  Histogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.add(i);
  const Spread spread = spread_of(histogram);
  EXPECT_EQ(spread.count, 1000U);
  EXPECT_EQ(spread.p50, 500);
  EXPECT_EQ(spread.p99, 990);
  EXPECT_EQ(spread.maximum, 1000);
}

TEST(Report, ASoundRunHolds) {
  EXPECT_EQ(verdict_of(sound_report()).colour(), Colour::green);
  EXPECT_EQ(report::json_of(sound_report())["resources_hold"], true);
}

TEST(Report, FramesThatTheBoxLostFailTheRun) {
  using enum emulator::ResourceDrop;
  for (const auto want : {no_room, egress_full, no_buffer}) {
    Report report = sound_report();
    report.directions[0].accounting.direction.dropped_for_resource[std::size_t(want)] = {9, 900};
    report.directions[0].lost_times.sample(0, Duration(1'000'000'000));
    report.directions[0].lost_times.sample(9, Duration(2'000'000'000));
    EXPECT_EQ(report::json_of(report)["resources_hold"], false);
    const char* how = want == egress_full ? "a way out" : "room or a buffer";
    EXPECT_THAT(broken(report),
                Contains(fmt::format("does not hold: this box lost 9 of 10 frames (90 %) at "
                                     "west-to-east for want of {}: its results are those of an "
                                     "overloaded box, between 1 s and 2 s after the start",
                                     how)));
    const std::string remedy = verdict_of(report).remarkable().front()->remedy;
    EXPECT_EQ(remedy.find("[capacity]") != std::string::npos, want != egress_full);
  }
}

TEST(Report, AFewFramesThatTheBoxLostAreShown) {
  const auto with = [](std::uint64_t lost, std::uint64_t dropped) {
    Report report = sound_report();
    emulator::Account& account = report.directions[0].accounting.direction;
    account.received.frames = 1'000'000;
    account.dropped_by_rule.frames = dropped;
    account.dropped_for_resource[std::size_t(emulator::ResourceDrop::no_room)].frames = lost;
    return report;
  };
  const auto colour_of_machine = [&](std::uint64_t lost, std::uint64_t dropped) {
    const Verdict verdict = verdict_of(with(lost, dropped));
    return std::ranges::find(verdict.all(), "machine", &Judgement::name)->colour();
  };
  EXPECT_EQ(colour_of_machine(100, 0), Colour::amber);
  EXPECT_EQ(colour_of_machine(101, 0), Colour::red);
  // A tenth of what the rules dropped.
  EXPECT_EQ(colour_of_machine(50, 500), Colour::amber);
  EXPECT_EQ(colour_of_machine(51, 500), Colour::red);
}

TEST(Report, AFrameThatLeftTooEarlyFailsTheRun) {
  Report report = sound_report();
  EXPECT_EQ(report::json_of(report)["releases_hold"], true);
  report.directions[0].release_error.minimum = -1;
  EXPECT_EQ(report::json_of(report)["releases_hold"], false);
  EXPECT_THAT(broken(report), ElementsAre(HasSubstr("frames left before they were due")));
  report = sound_report();
  report.directions[0].pass_latency = {.count = 1, .minimum = -1};
  EXPECT_THAT(broken(report), testing::SizeIs(1));
}

TEST(Report, LateFramesAreTheMachines) {
  Report report = sound_report();
  report.directions[0].accounting.direction.sent.frames = 10'000;
  report.directions[0].accounting.rules[0].sent.frames = 10'000;
  const auto of = [&](Colour colour, std::uint64_t late) {
    report.directions[0].late_frames = late;
    return sentences(report, colour);
  };
  const auto is_late = [](const char* how_many) {
    return Contains(HasSubstr(std::string("this box sent ") + how_many));
  };
  EXPECT_THAT(of(Colour::amber, 10), Not(is_late("")));
  EXPECT_THAT(of(Colour::amber, 11), is_late("11 of 10,000 frames (0.11 %) late"));
  EXPECT_THAT(of(Colour::amber, 100), is_late("100 of 10,000 frames (1 %) late"));
  EXPECT_THAT(of(Colour::red, 100), Not(is_late("")));
  EXPECT_THAT(of(Colour::red, 101), is_late("101 of 10,000 frames (1.01 %) late"));
}

TEST(Report, LateStepsAreTheMachines) {
  Report report = sound_report();
  const auto of = [&](Colour colour, int ms) {
    report.scenario = ScenarioReport{.done = 1, .all = 1, .latest = std::chrono::milliseconds(ms)};
    return sentences(report, colour);
  };
  EXPECT_THAT(of(Colour::amber, 10), IsEmpty());
  EXPECT_THAT(of(Colour::amber, 11), ElementsAre(HasSubstr("11 ms late with a step")));
  EXPECT_THAT(of(Colour::amber, 100), ElementsAre(HasSubstr("100 ms late with a step")));
  EXPECT_THAT(of(Colour::red, 101), ElementsAre(HasSubstr("101 ms late with a step")));
}

TEST(Report, AnExpectationOfLatenessReplacesWhatTheRunAsks) {
  Report report = sound_report();
  const auto colour_of = [&](const std::string& name, const char* limit) {
    Judge judge(kImpairQuestions, {parse_expectation(name + limit).value()});
    observe_run(judge, report);
    const Verdict verdict = judge.finish();
    return std::ranges::find(verdict.all(), name, &Judgement::name)->colour();
  };
  report.directions[0].accounting.direction.sent.frames = 10'000;
  report.directions[0].late_frames = 500;
  EXPECT_EQ(colour_of("late", "<=100%"), Colour::green);
  EXPECT_EQ(colour_of("late", "<=4%"), Colour::red);
  EXPECT_EQ(colour_of("late", "<=0.1%"), Colour::red);
  report.directions[0].accounting.direction.sent.frames = report.directions[0].late_frames = 0;
  EXPECT_EQ(colour_of("late", "<=0%"), Colour::green);  // no frame, and no step
  EXPECT_EQ(colour_of("step_lateness", "<=1ms"), Colour::green);
}

TEST(Report, TheVerdictSoFarKnowsWhatIsExpectedOfTheMachine) {
  Report report = sound_report();
  report.directions[0].late_frames = report.directions[0].accounting.direction.sent.frames;
  EXPECT_EQ(verdict_of(report).colour(), Colour::red);
  report.expected = {parse_expectation("late<=100%").value()};
  EXPECT_NE(verdict_of(report).colour(), Colour::red);
}

TEST(Report, FramesThatThePortsLostFailTheRun) {
  const auto with = [](PortReport port) {
    Report report = sound_report();
    port.side = "west";
    port.mtu = 1500;
    report.ports = {port};
    return report;
  };
  EXPECT_THAT(broken(with({.received = 5, .sent = 5})), IsEmpty());
  for (const PortReport& port :
       {PortReport{.missed = 3}, PortReport{.no_buffer = 3}, PortReport{.errors = 3},
        PortReport{.too_long = 3}, PortReport{.unsent_too_long = 3},
        PortReport{.unsent_dropped = 3}}) {
    const Report report = with(port);
    EXPECT_EQ(report::json_of(report)["ports_hold"], false);
    EXPECT_THAT(broken(report), ElementsAre(HasSubstr("3")));
  }
  EXPECT_THAT(
      broken(with({.received = 7, .missed = 3})),
      ElementsAre(HasSubstr("this box lost 3 of 10 frames (30 %) at west before it received "
                            "them: its results are those of an overloaded box")));
  EXPECT_THAT(to_text(with({.missed = 3})), HasSubstr("3 missed by the device"));
  EXPECT_THAT(to_text(with({.unsent_too_long = 3})), HasSubstr("3 longer than the MTU of 1500 B"));
}

TEST(Report, AThreadThatStoodStillIsShown) {
  Report report = sound_report();
  report.seconds = 10;
  report.stalls = {.watched = true,
                   .count = 1,
                   .total = Duration(300'000'000),
                   .longest = Duration(300'000'000)};
  EXPECT_THAT(sentences(report, Colour::amber),
              ElementsAre(HasSubstr("this box stood still for 300 ms at most")));
}

TEST(Report, WhatEndedItIsJudged) {
  Report report = sound_report();
  report.stopped = true;
  EXPECT_THAT(broken(report), IsEmpty());  // a signal is the usual end
  report.seconds = 3;
  report.duration = Duration(10'000'000'000);
  EXPECT_THAT(broken(report), ElementsAre(HasSubstr("a signal ended it")));
  report.duration.reset();
  report.command = "replay";
  EXPECT_THAT(broken(report), ElementsAre(HasSubstr("a signal ended it")));
}

TEST(Report, RecordsThatAreMissingFailTheRun) {
  Report report = sound_report();
  report.ledger = LedgerReport{.file = "l", .records = 229};
  EXPECT_THAT(broken(report), IsEmpty());
  report.ledger->lost = 280;
  EXPECT_THAT(broken(report), ElementsAre(HasSubstr("this box lost 280 of 509 records")));
}

TEST(Report, AnEventThatWasNotCarriedOutFailsTheRun) {
  Report report = sound_report();
  report.directions[0].events.hits = {.packets = 5, .carried_out = 4, .lost_before = 1};
  EXPECT_THAT(broken(report), IsEmpty());
  EXPECT_NE(to_text(report).find("5 packets, 4 carried out, 1 lost before: holds"),
            std::string::npos);
  report.directions[0].events.hits.carried_out = 3;
  EXPECT_THAT(broken(report), ElementsAre(HasSubstr("0 of 1 checks of stages hold")));
  EXPECT_EQ(report::json_of(report)["directions"][0]["event_packets"]["holds"], false);
}

/// Of 300 rules only the two that received frames, and the untouched frames.
TEST(Report, OfManyRulesThoseWithFramesAreListed) {
  DirectionReport direction;
  direction.accounting.rules.resize(301);
  direction.accounting.rules[7].received.frames = 1;
  direction.accounting.rules[299].created.frames = 1;
  std::vector<std::size_t> listed;
  for (std::size_t i = 0; i < 301; ++i)
    if (is_listed(direction.accounting, direction.accounting.rules[i])) listed.push_back(i);
  EXPECT_EQ(listed, (std::vector<std::size_t>{7, 299, 300}));
  direction.accounting.rules.resize(256);
  EXPECT_TRUE(is_listed(direction.accounting, direction.accounting.rules[0]));
}

TEST(Report, AStepThatWasDueAndIsNotDoneIsNamedAndFailsTheRun) {
  Report report = sound_report();
  report.scenario = ScenarioReport{.done = 12, .all = 80};
  EXPECT_THAT(broken(report), IsEmpty());
  EXPECT_FALSE(report::json_of(report)["scenario"].contains("overdue"));
  report.scenario->overdue = {{"ramp", 67}, {"cut", 1}};
  EXPECT_THAT(broken(report),
              ElementsAre(HasSubstr("68 of 80 steps failed, or were due and not done")));
  EXPECT_THAT(to_text(report), HasSubstr("scenario: 12 of 80 steps, 67 of ramp were due and not "
                                         "done, 1 of cut were due and not done"));
  EXPECT_EQ(report::json_of(report)["scenario"]["overdue"][0]["steps"], 67);
}

}  // namespace report_test
}  // namespace lw::impair
