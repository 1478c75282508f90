// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/progress_display.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "gen/report/live_flows.h"
#include "measured.h"
#include "report/table.h"

namespace lw::gen {
namespace {

using std::chrono::seconds;

FlowProgress at(std::uint64_t frames) {
  FlowProgress flow{.name = "a, b", .is_sent = true, .is_received = true};
  flow.sent_frames = flow.received_frames = flow.latencies = frames;
  flow.sent_wire_bytes = 125 * frames;
  flow.received_bytes = 100 * frames;
  flow.latency_sum_ns = 2000.0 * static_cast<double>(frames);
  return flow;
}

TEST(Series, ARowIsWhatChanged) {
  FlowProgress before = at(1000), now = at(3000);
  before.lost = 5;  // three of them came late
  now.lost = 2;
  EXPECT_EQ(series_row(seconds(1), seconds(3), now, before),
            "1.000000,3.000000,\"a, b\",2000,1000000,0,2000,800000,-3,0,0,0,0,2000\n");
  EXPECT_EQ(series_row(seconds(1), seconds(2), now, now),
            "1.000000,2.000000,\"a, b\",0,0,0,0,0,0,0,0,0,0,\n");
  const auto columns = [](const std::string& line) { return std::ranges::count(line, ','); };
  EXPECT_EQ(columns(series_header()), columns(series_row(seconds(1), seconds(2), now, now)) - 1);
}

TEST(Csv, QuotesWhatNeedsIt) {
  EXPECT_EQ(report::csv_field("plain"), "plain");
  EXPECT_EQ(report::csv_field("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(report::csv_field("a\nb"), "\"a\nb\"");
}

TEST(FlowModel, HasTotalsAndTheBusiestFlows) {
  std::vector<FlowProgress> flows(50, at(10));
  flows[20] = at(30);
  flows[20].name = "busy";
  flows[20].lost = 2;
  report::Sparkline trend;
  Verdict verdict;
  verdict.add({.name = "loss", .observed = "2 of 522 frames never came", .holds = Holds::no});
  const ProgressNow now{.elapsed = seconds(3),
                        .left = seconds(7),
                        .span = seconds(1),
                        .flows = flows,
                        .before = {},
                        .pacing = PacingSoFar(),
                        .verdict = verdict};
  const report::LiveModel model = flow_model("run x", now, trend);
  EXPECT_EQ(model.status, "3 s, 7 s left");
  EXPECT_EQ(model.verdict_text, "does not hold: 2 of 522 frames never came");
  EXPECT_EQ(model.colour, Colour::red);
  ASSERT_EQ(model.sections.size(), 2u);
  const report::LiveSection& busiest = model.sections[1];
  EXPECT_EQ(busiest.rows.size() + busiest.more, 50u);
  // 30 frames of 125 B in a second.
  EXPECT_EQ(busiest.rows[0][0], "busy");
  EXPECT_EQ(busiest.rows[0][1], "30.00 kb/s");
  EXPECT_EQ(busiest.rows[0][2], "30");
  EXPECT_EQ(total_of(flows).received_frames, 520u);
  EXPECT_EQ(model.line,
            "3 s, 7 s left; sent 520 frames, 520.0 kb/s, 0 not sent; received 520 frames, "
            "416.0 kb/s, 2 lost, 0 late; does not hold: 2 of 522 frames never came");
}

TEST(Progress, JoinsWhatWasSentWithWhatCame) {
  const auto frames = test::frames_of_profile(
      "[defaults]\nsignature = true\nmessages = 10\n[[flow]]\nname = \"x\"\n"
      "[[flow]]\nname = \"y\"\n[[flow]]\nname = \"z\"\nsignature = false\n");
  Measurement measurement({});
  for (const auto& frame : frames) {
    measurement.count_frame(frame.bytes, frame.sent + std::chrono::microseconds(3));
  }
  measurement.count_latencies();
  std::vector<FlowCounters> sent(2);
  sent[1].frames = 10;
  const auto rows = progress_of({"x", "y"}, &sent, &measurement);
  ASSERT_EQ(rows.size(), 3u);  // z isn't signed: it stands for itself
  EXPECT_EQ(rows[1].name, "y");
  EXPECT_EQ(rows[1].sent_frames, 10u);
  EXPECT_EQ(rows[1].received_frames, 10u);
  ASSERT_NE(rows[1].latency, nullptr);
  EXPECT_EQ(rows[1].latency->quantile(0.99), 3000);
  EXPECT_FALSE(rows[2].is_sent);
  EXPECT_EQ(rows[2].received_frames, 10u);
}

}  // namespace
}  // namespace lw::gen
