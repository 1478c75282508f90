// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gen/report/run_rows.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

TEST(FlowCounters, AchievedIsWorkOverTime) {
  FlowCounters tally;
  EXPECT_EQ(tally.achieved(config::Rate::Unit::frames), 0);
  tally.frames = 500;
  tally.wire_bytes = 125'000;
  tally.span = std::chrono::milliseconds(250);
  EXPECT_DOUBLE_EQ(tally.achieved(config::Rate::Unit::frames), 2000);
  EXPECT_DOUBLE_EQ(tally.achieved(config::Rate::Unit::wire_bits), 4e6);
}

TEST(RunReport, JsonIsOneLineThatAddsUp) {
  config::FlowProfile profile;
  profile.flows.resize(2);
  profile.flows[0].name = "a";
  profile.flows[1].name = "b\xff";  // not UTF-8: still a line of JSON
  RunReport report;
  report.profile = "p";
  report.seed = 3;
  report.elapsed = std::chrono::seconds(1);
  report.flows.resize(2);
  report.flows[0].frames = 10;
  report.flows[1].frames = 5;
  report.flows[1].not_sent = 2;
  const std::string text = report::json_line(kSendOutput, RunSummary(profile, report, nullptr));
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["frames"], 15);
  EXPECT_EQ(json["not_sent"], 2);
  EXPECT_EQ(json["flows"].size(), 2u);
  EXPECT_EQ(json["elapsed_ns"], 1'000'000'000);
}

/// A flow of 2 Gb/s that sent five frames, 1500 B on the wire, in 8 us; the port did not take a
/// sixth.
RunReport sent_five(config::FlowProfile& profile) {
  profile.flows.resize(1);
  profile.flows[0].name = "a";
  profile.flows[0].signature = true;
  profile.flows[0].rate = {config::Rate::Unit::wire_bits, 2e9};
  RunReport report;
  report.flows.resize(1);
  report.flows[0].frames = 5;
  report.flows[0].not_sent = 1;
  report.flows[0].wire_bytes = 1500;
  report.flows[0].span = std::chrono::microseconds(8);
  return report;
}

TEST(PageRows, RatesStandBesideTheProfilesAndFlowsAddUp) {
  config::FlowProfile profile;
  const RunReport report = sent_five(profile);
  const report::RunRows rows = page_rows(RunSummary(profile, report, nullptr));
  ASSERT_EQ(rows.requested.size(), 2U);
  EXPECT_EQ(rows.requested[0].requested, "2.00 Gb/s on the wire");
  EXPECT_EQ(rows.requested[0].measured, "1.50 Gb/s on the wire");
  EXPECT_EQ(rows.requested[1].holds, false);  // a frame that the port did not take
  ASSERT_EQ(rows.accounts.size(), 1U);
  EXPECT_EQ(report::Json(rows.accounts[0].rows).dump(),
            R"([["a",5,1,null],["all flows",5,1,true]])");
}

TEST(PageRows, FlowsThatNeverCameAddUpWhereAllFramesAreSigned) {
  config::FlowProfile profile;
  RunReport report = sent_five(profile);
  report.ports = {{.port = "p", .refused = {}, .lost = {}}};
  report.interrupted = "a signal";
  const Measurement nothing({});
  report::RunRows rows = page_rows(RunSummary(profile, report, &nothing));
  ASSERT_EQ(rows.accounts.size(), 2U);
  EXPECT_EQ(rows.accounts[1].identity, "sent + duplicated = received + lost");
  EXPECT_EQ(report::Json(rows.accounts[1].rows).dump(), R"([["a",5,0,0,5,true]])");
  // The flow of an unsigned frame is unknown.
  report.flows[0].unsigned_frames = 1;
  rows = page_rows(RunSummary(profile, report, &nothing));
  EXPECT_EQ(rows.accounts[1].identity, "");
  EXPECT_EQ(report::Json(rows.accounts[1].rows).dump(), R"([["a",5,0,0,4]])");
}

}  // namespace
}  // namespace lw::gen
