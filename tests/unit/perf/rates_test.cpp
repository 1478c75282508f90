// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cmath>

#include <gtest/gtest.h>

#include "perf/rate_meter.h"
#include "perf/result.h"

namespace lw::perf::rates_test {
namespace {

using std::chrono::microseconds;

/// 10^9 latencies of an exponential distribution of 10 us, and of a long tail: the memory is
/// bounded, and the quantiles are within 1 % of the exact ones.
TEST(LatencyResult, percentiles_of_a_billion_samples_are_within_one_percent) {
  constexpr int kSteps = 1'000'000;
  constexpr std::uint64_t kTimes = 1000;
  for (const double power : {1.0, 3.0}) {
    LatencyResult result;
    const auto exact = [&](double share) { return 1e4 * std::pow(-std::log1p(-share), power); };
    for (int i = 0; i < kSteps; ++i) result.ns.add(std::llround(exact((i + 0.5) / kSteps)), kTimes);
    EXPECT_EQ(result.ns.count(), kSteps * kTimes);
    for (const double share : {0.5, 0.99, 0.999})
      EXPECT_NEAR(static_cast<double>(result.ns.quantile(share)) / exact(share), 1, 0.01) << share;
    EXPECT_LT(result.ns.bytes(), 1u << 20);
  }
}

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
