// SPDX-License-Identifier: BSD-3-Clause
// Counters of runs of 10^12 bytes and more, which no counter of 32 bits and no float holds.
#include <cmath>

#include <gtest/gtest.h>

#include "gen/perf/report/interval_report.h"
#include "gen/perf/session/class_counts.h"
#include "gen/perf/session/handover.h"
#include "gen/perf/session/session_params.h"
#include "perf/result.h"
#include "transport/packet.h"

namespace lw::gen {
namespace {

constexpr std::uint64_t kTera = 1'000'000'000'000;
constexpr std::uint64_t kLongest = std::uint64_t{1} << 31;  // bytes of a message

TEST(LargeCounts, PassBetweenBothSides) {
  const ServerStats stats{.checked = 5 * kTera,
                          .wrong = 1,
                          .duplicates = kTera + 1,
                          .out_of_sequence = kTera + 2,
                          .cnps = kTera + 3,
                          .dropped = kTera + 4};
  EXPECT_EQ(read_server_stats(to_private_data(stats)), stats);
  handover::Report report;
  report.stats = stats;
  report.messages = kTera + 5;
  report.bytes = kTera * 1000 + 7;
  const auto read = handover::read_report(handover::line_of(report));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, report);
}

TEST(LargeCounts, RatesAreOfEachByte) {
  perf::BandwidthResult result;
  result.messages = 500;
  result.bytes = 500 * kLongest + 1;
  result.back_bytes = 250 * kLongest;
  result.elapsed = std::chrono::seconds(8);
  EXPECT_DOUBLE_EQ(result.bps_of(result.bytes), 500.0 * (1u << 31) + 1);
  EXPECT_DOUBLE_EQ(result.back_bps() + result.there_bps(), result.bps_of(result.bytes));
}

TEST(LargeCounts, ClassesCountEachByte) {
  ClassCounts counts;
  for (int i = 0; i < 500; ++i)
    counts.add(ClassWay::sent, roce::ClassKind::data, 0x6a, std::uint8_t{3}, kLongest);
  const auto found = counts.counts();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bytes, 500 * kLongest);
  EXPECT_EQ(class_lines(found),
            "sent data: 500 packets, 1.07 TB with DSCP 26, ECT(0), priority 3\n");
}

/// A latency run without end: the percentiles of 10^9 messages, in constant memory.
TEST(LargeCounts, PercentilesOfABillionLatencies) {
  perf::LatencyResult result;
  for (std::int64_t i = 1; i <= 10'000; ++i) result.ns.add(1000 + i * i, 100'000);
  ASSERT_EQ(result.ns.count(), 1'000'000'000u);
  for (const double q : {0.5, 0.99, 0.999}) {
    const double exact = 1000 + std::pow(q * 10'000, 2);
    EXPECT_NEAR(static_cast<double>(result.ns.quantile(q)) / exact, 1, 0.01) << q;
  }
  EXPECT_LT(result.ns.bytes(), 500'000u);
}

TEST(LargeCounts, AnIntervalIsTheDifference) {
  using std::chrono::seconds;
  const IntervalTotals before{.messages = 10, .bytes = 7 * kTera, .packets = 3 * kTera};
  IntervalTotals after = before;
  after.bytes += kTera / 8;
  after.packets += 1000;
  after.retransmitted = 10;
  const std::string line = interval_line(seconds(1), seconds(2), before, after, nullptr);
  EXPECT_NE(line.find("1.00 Tb/s"), std::string::npos) << line;
  EXPECT_NE(line.find("10 (1 %)"), std::string::npos) << line;
}

TEST(LargeCounts, ExtremesAreThoseOfTheIntervals) {
  using std::chrono::microseconds;
  const auto window = [](std::initializer_list<int> latencies) {
    LatencyWindow filled;
    for (const int us : latencies) filled.add(microseconds(us));
    return filled;
  };
  IntervalExtremes found{.length = std::chrono::seconds(1)};
  found.add(window({}));
  found.add(window({20, 40}));
  found.add(window({25, 26, 27}));
  found.add(window({}));
  found.add(window({10, 90}));
  EXPECT_EQ(found.count, 5u);
  EXPECT_EQ(found.empty, 2u);
  EXPECT_EQ(found.least_mean, microseconds(26));
  EXPECT_EQ(found.most_mean, microseconds(50));
  EXPECT_EQ(found.most_minimum, microseconds(25));
  EXPECT_EQ(found.least_maximum, microseconds(27));
  EXPECT_EQ(extremes_line(found, true),
            "5 whole intervals of 1 s: t_avg 26.00 to 50.00 usec, t_min up to 25.00, t_max from "
            "27.00; 2 without a message\n");
  IntervalExtremes rates{.length = std::chrono::seconds(2)};
  for (const double gbps : {3.6, 8.09, 4.96}) rates.add(10, gbps * 1e9);
  EXPECT_EQ(extremes_line(rates, false), "3 whole intervals of 2 s: 3.60 Gb/s to 8.09 Gb/s\n");
}

TEST(LargeCounts, ALongMessageHasItsPackets) {
  EXPECT_EQ(transport::packets_of(kLongest, 256), transport::kMostPackets);
  EXPECT_EQ(transport::packets_of(kLongest, 4096), 524'288u);
  EXPECT_EQ(transport::packets_of(kLongest, 14'000), 153'392u);  // 153,391.7
  EXPECT_EQ(transport::packets_of(3 * 1027 + 5, 1027), 4u);
  EXPECT_EQ(transport::packets_of(1027, 1027), 1u);
}

}  // namespace
}  // namespace lw::gen
