// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cmath>

#include <gtest/gtest.h>

#include "perf/rate_meter.h"
#include "perf/result.h"

namespace lw::perf::rates_test {
namespace {

using std::chrono::microseconds;

/// Notes `count` messages of 1,000 bytes, each `each` after the one before.
void pass(RateMeter& meter, BandwidthResult& result, int count, Duration each) {
  for (int i = 0; i < count; ++i) {
    ++result.messages;
    result.bytes += 1000;
    meter.note(result.elapsed + each, result);
  }
}

/// 50 messages at 0.8 Gb/s, then 50 at 1.6 Gb/s.
BandwidthResult two_speeds(const PerfConfig& config) {
  RateMeter meter(config, 100);
  BandwidthResult result;
  pass(meter, result, 50, microseconds(10));
  pass(meter, result, 50, microseconds(5));
  meter.finish(result, 1, true);
  return result;
}

TEST(RateMeterTest, TheSecondHalfIsSteadyAndTheBetterOneThePeak) {
  const BandwidthResult result = two_speeds({});
  EXPECT_EQ(result.elapsed, microseconds(750));
  EXPECT_DOUBLE_EQ(result.average_bps, 100'000 * 8e9 / 750e3);
  EXPECT_DOUBLE_EQ(result.steady_bps, 1.6e9);
  EXPECT_DOUBLE_EQ(result.peak_bps, 1.6e9);
}

TEST(RateMeterTest, ThePeakMayBeInTheFirstHalf) {
  RateMeter meter({}, 100);
  BandwidthResult result;
  pass(meter, result, 50, microseconds(5));
  pass(meter, result, 50, microseconds(10));
  meter.finish(result, 1, true);
  EXPECT_DOUBLE_EQ(result.steady_bps, 0.8e9);
  EXPECT_DOUBLE_EQ(result.peak_bps, 1.6e9);
}

TEST(RateMeterTest, HalfOfADurationIsByTime) {
  PerfConfig config;
  config.duration = microseconds(750);
  // The half at 375 us is noted with message 38, at 380 us: 12 slow messages and 50 fast ones.
  EXPECT_DOUBLE_EQ(two_speeds(config).steady_bps, 62'000 * 8e9 / 370e3);
}

TEST(RateMeterTest, LessThanFourWindowsHaveNoSteadyRate) {
  for (const auto& [window, measured] : {std::pair{25U, true}, {26U, false}}) {
    RateMeter meter({}, 100);
    BandwidthResult result;
    pass(meter, result, 100, microseconds(10));
    meter.finish(result, window, true);
    EXPECT_EQ(result.steady_bps > 0, measured);
    EXPECT_EQ(result.peak_bps > 0, measured);
    EXPECT_GT(result.average_bps, 0);
  }
}

TEST(RateMeterTest, AFailureLeavesTheAverageOnly) {
  RateMeter meter({}, 100);
  BandwidthResult result;
  pass(meter, result, 100, microseconds(10));
  result.failed = 1;
  meter.finish(result, 1, true);
  EXPECT_EQ(result.steady_bps, 0);
  EXPECT_DOUBLE_EQ(result.average_bps, 0.8e9);
}

TEST(RateMeterTest, ARunThatIsCutShortHasNoMargins) {
  PerfConfig config;
  config.duration = microseconds(1000);
  config.margin = microseconds(100);
  for (const bool whole : {true, false}) {
    RateMeter meter(config, 0);
    BandwidthResult result;
    pass(meter, result, 20, microseconds(5));  // the first margin
    pass(meter, result, 40, microseconds(10));
    meter.finish(result, 1, whole);
    // Between the margins, of 100 us to 900 us, 40 messages completed; in all 60 in 500 us.
    EXPECT_DOUBLE_EQ(result.average_bps, whole ? 40'000 * 8e9 / 800e3 : 60'000 * 8e9 / 500e3);
  }
}

TEST(LatencyResultTest, HasTheDeviationOfItsLatencies) {
  LatencyResult result;
  EXPECT_EQ(result.deviation_ns(), 0);
  for (const std::int64_t ns : {2, 4, 4, 4, 5, 5, 7, 9}) result.add(Duration{ns});
  EXPECT_EQ(result.ns.count(), 8U);
  EXPECT_DOUBLE_EQ(result.deviation_ns(), 2);  // of the whole population
}

TEST(RateTest, NoTimeHasNoRate) {
  EXPECT_EQ(rate_bps(1000, Duration{}), 0);
  EXPECT_EQ(rate_bps(1000, microseconds(1)), 8e9);
}

}  // namespace
}  // namespace lw::perf::rates_test
