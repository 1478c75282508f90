// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/metrics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/impair/sound_report.h"

namespace lw::impair {
namespace metrics_test {

using testing::HasSubstr;

TEST(Metrics, EveryWayOfBeingCountedIsASample) {
  Report report = sound_report();
  DirectionReport& east = report.directions.front();
  Histogram histogram;
  for (const int ns : {900, 1500, 1500, 70'000}) histogram.add(ns);
  east.delay = spread_of(histogram);
  east.delays = delays_of(histogram);
  east.stages.push_back({.rule = "haul", .stats = {}});
  east.stages.back().stats.acted[static_cast<std::size_t>(emulator::Stage::mark)] = 3;
  east.stages.back().queued_bytes = 4096;
  const std::string text = to_prometheus(report);
  const auto expect = [&](std::string_view name, std::string_view want, int value) {
    EXPECT_THAT(text, HasSubstr(fmt::format(
                          "\nlongwire_impair_{}{{direction=\"west-to-east\",rule=\"haul\"{}}} {}\n",
                          name, want, value)));
  };
  expect("received_frames_total", "", 10);
  expect("received_bytes_total", "", 1000);
  expect("sent_frames_total", "", 6);
  expect("dropped_by_rule_frames_total", "", 1);
  expect("dropped_for_resource_frames_total", ",resource=\"link_down\"", 1);
  expect("in_flight_frames", "", 2);
  expect("acted_frames_total", ",stage=\"mark\"", 3);
  expect("queued_bytes", "", 4096);
  EXPECT_THAT(text, HasSubstr("# TYPE longwire_impair_delay_seconds histogram\n"));
  for (const auto& [limit, count] :
       {std::pair{"1e-06", 1}, {"2e-06", 3}, {"5e-05", 3}, {"0.0001", 4}, {"1", 4}, {"+Inf", 4}})
    EXPECT_THAT(text, HasSubstr(fmt::format("longwire_impair_delay_seconds_bucket{{direction="
                                            "\"west-to-east\",le=\"{}\"}} {}\n",
                                            limit, count)));
  EXPECT_THAT(text, HasSubstr("delay_seconds_sum{direction=\"west-to-east\"} 7.39e-05\n"));
  EXPECT_THAT(text, HasSubstr("release_error_seconds_count{direction=\"west-to-east\"} 6\n"));
}

TEST(Metrics, HaveAStatementOfTheVerdictEach) {
  Report report = sound_report();
  const auto gauge = [&](std::string_view statement) {
    const std::string text = to_prometheus(report);
    const std::string begin =
        fmt::format("\nlongwire_impair_verdict{{statement=\"{}\",", statement);
    const std::size_t at = text.find(begin);
    EXPECT_NE(at, std::string::npos) << statement;
    return text[text.find("} ", at) + 2];
  };
  EXPECT_EQ(gauge("accounts"), '0');
  EXPECT_EQ(gauge("machine"), '0');
  report.directions[0].accounting.direction.dropped_for_resource[0] = {9, 900};
  EXPECT_EQ(gauge("machine"), '2');
  report.stalls = {.watched = true,
                   .count = 1,
                   .total = Duration(300'000'000),
                   .longest = Duration(300'000'000)};
  EXPECT_EQ(gauge("stall"), '1');
}

}  // namespace metrics_test
}  // namespace lw::impair
