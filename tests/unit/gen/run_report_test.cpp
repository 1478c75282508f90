// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace lw::gen
