// SPDX-License-Identifier: BSD-3-Clause
#include "report/rate_history.h"

#include <gtest/gtest.h>

namespace lw::report {
namespace {

using std::chrono::milliseconds;

RateHistory history_of(std::vector<std::string> rates, std::vector<std::string> frames) {
  return RateHistory({{.title = "rates", .what = "rate", .counters = std::move(rates)},
                      {.title = "frames",
                       .what = "lost",
                       .unit = RateHistory::Unit::frames,
                       .counters = std::move(frames)}});
}

TEST(RateHistory, RatesAreTheChangesOverTheirIntervals) {
  RateHistory history = history_of({"in", "out"}, {"lost"});
  EXPECT_FALSE(history.due(milliseconds(99)));
  EXPECT_TRUE(history.due(milliseconds(100)));
  history.add(milliseconds(100), std::vector<std::uint64_t>{1'000'000, 500'000, 10});
  EXPECT_FALSE(history.due(milliseconds(199)));
  history.add(milliseconds(300), std::vector<std::uint64_t>{1'000'000, 1'000'000, 8});
  history.add(milliseconds(300), std::vector<std::uint64_t>{9, 9, 9});  // not later: ignored
  const auto plots = history.plots();
  ASSERT_EQ(plots.size(), 2u);
  EXPECT_EQ(plots[0].y.label, "rate, Mb/s");
  ASSERT_EQ(plots[0].curves.size(), 2u);
  const auto& [in, out] = std::tie(plots[0].curves[0].points, plots[0].curves[1].points);
  ASSERT_EQ(in.size(), 2u);
  EXPECT_DOUBLE_EQ(in[0].x, 0.1);
  EXPECT_DOUBLE_EQ(in[0].y, 80);
  EXPECT_DOUBLE_EQ(in[1].x, 0.3);
  EXPECT_DOUBLE_EQ(in[1].y, 0);
  EXPECT_DOUBLE_EQ(out[1].y, 20);
  EXPECT_EQ(plots[1].y.label, "lost, frames/s");
  EXPECT_DOUBLE_EQ(plots[1].curves[0].points[1].y, -10);  // two came late
}

TEST(RateHistory, LongRunsAreThinnedAndKeepTheirTotals) {
  RateHistory history = history_of({"in"}, {"lost"});
  std::uint64_t bytes = 0;
  Duration elapsed{0};
  for (int i = 1; i <= 100'000; ++i) {
    elapsed = milliseconds(100) * i;
    bytes += static_cast<std::uint64_t>(i % 1000);
    if (history.due(elapsed)) history.add(elapsed, std::vector<std::uint64_t>{bytes, 0});
  }
  history.add(elapsed + milliseconds(1), std::vector<std::uint64_t>{bytes, 0});
  const auto plot = history.plots()[0];
  EXPECT_EQ(plot.y.label, "rate, kb/s");
  const auto& points = plot.curves[0].points;
  EXPECT_LE(points.size(), RateHistory::kMost);
  EXPECT_GE(points.size(), RateHistory::kMost / 4);
  double sum = 0, before = 0;
  for (const PlotPoint& point : points) {
    sum += point.y * 1000 / 8 * (point.x - before);
    before = point.x;
  }
  EXPECT_NEAR(sum, static_cast<double>(bytes), 1);
}

TEST(RateHistory, CountersThatStayAtZeroHaveNoCurve) {
  RateHistory history = history_of({"east", "west"}, {"lost"});
  history.add(milliseconds(100), std::vector<std::uint64_t>{1000, 0, 0});
  EXPECT_TRUE(history.plots()[0].curves.empty());  // one sample is no course
  history.add(milliseconds(200), std::vector<std::uint64_t>{2000, 0, 0});
  const auto plots = history.plots();
  ASSERT_EQ(plots[0].curves.size(), 1u);
  EXPECT_EQ(plots[0].curves[0].name, "east");
  EXPECT_EQ(plots[1].curves.size(), 1u);  // all are 0: that is shown
}

}  // namespace
}  // namespace lw::report
