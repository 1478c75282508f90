// SPDX-License-Identifier: BSD-3-Clause
#include "transport/dcqcn.h"

#include <span>

#include <gtest/gtest.h>

#include "unit/transport/dcqcn_trace.h"

namespace lw::transport {
namespace {

using test::TraceRow;

constexpr double kLine = 100e9;
constexpr double kMega = 1e6;

Instant at_us(double us) { return instant_from_ns(static_cast<std::int64_t>(us * 1000)); }

/// The measured system's, without byte increases.
DcqcnConfig timed_only() {
  DcqcnConfig config;
  config.rpg_byte_reset = 0;
  return config;
}

struct Case {
  const char* name;
  int gap_us;
  std::span<const TraceRow> rows;
  void (*change)(DcqcnConfig&);
};

const Case kCases[] = {
    {"as_measured_50_us", 50, test::k_as_measured_50_us, [](DcqcnConfig&) {}},
    {"as_measured_1000_us", 1000, test::k_as_measured_1000_us, [](DcqcnConfig&) {}},
    {"rpg_gd", 50, test::k_rpg_gd,
     [](DcqcnConfig& c) {
       c.rpg_gd = 10;
       c.rpg_min_dec_fac_percent = 10;
     }},
    {"rpg_min_dec_fac", 50, test::k_rpg_min_dec_fac,
     [](DcqcnConfig& c) { c.rpg_min_dec_fac_percent = 90; }},
    {"rate_to_set_on_first_cnp", 50, test::k_rate_to_set_on_first_cnp,
     [](DcqcnConfig& c) { c.rate_to_set_on_first_cnp_mbps = 10000; }},
    {"dce_tcp_g", 50, test::k_dce_tcp_g, [](DcqcnConfig& c) { c.dce_tcp_g = 1000; }},
    {"dce_tcp_rtt", 50, test::k_dce_tcp_rtt, [](DcqcnConfig& c) { c.dce_tcp_rtt_us = 5; }},
    {"initial_alpha", 50, test::k_initial_alpha, [](DcqcnConfig& c) { c.initial_alpha = 100; }},
    {"rpg_min_rate", 50, test::k_rpg_min_rate, [](DcqcnConfig& c) { c.rpg_min_rate_mbps = 20000; }},
    {"rpg_max_rate", 1000, test::k_rpg_max_rate,
     [](DcqcnConfig& c) { c.rpg_max_rate_mbps = 40000; }},
    {"rpg_ai_rate_and_time_reset", 1000, test::k_rpg_ai_rate_and_time_reset,
     [](DcqcnConfig& c) {
       c.rpg_ai_rate_mbps = 500;
       c.rpg_time_reset_us = 200;
     }},
    {"rpg_threshold", 1000, test::k_rpg_threshold,
     [](DcqcnConfig& c) {
       c.rpg_threshold = 3;
       c.rpg_time_reset_us = 200;
       c.rpg_ai_rate_mbps = 1000;
     }},
    {"no_clamp_after_time_inc", 1000, test::k_no_clamp_after_time_inc,
     [](DcqcnConfig& c) { c.clamp_tgt_rate_after_time_inc = false; }},
    {"clamp_tgt_rate", 1000, test::k_clamp_tgt_rate,
     [](DcqcnConfig& c) {
       c.clamp_tgt_rate_after_time_inc = false;
       c.clamp_tgt_rate = true;
     }},
    {"rate_reduce_monitor_period", 3, test::k_rate_reduce_monitor_period, [](DcqcnConfig&) {}},
};

class TraceTest : public testing::TestWithParam<Case> {};

TEST_P(TraceTest, ten_cnps_by_hand) {
  DcqcnConfig config = timed_only();
  GetParam().change(config);
  ReactionPoint point(config, kLine);
  int cnp = 0;
  for (const TraceRow& row : GetParam().rows) {
    point.on_cnp(at_us(cnp++ * GetParam().gap_us));
    EXPECT_NEAR(point.alpha(), row.alpha, 1e-5) << "CNP " << cnp;
    EXPECT_NEAR(point.rate_bps() / kMega, row.current, 1e-4) << "CNP " << cnp;
    EXPECT_NEAR(point.target_bps() / kMega, row.target, 1e-4) << "CNP " << cnp;
  }
  EXPECT_EQ(point.cnps_handled(), 10u);
}

INSTANTIATE_TEST_SUITE_P(Dcqcn, TraceTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ReactionPoint, a_flow_without_cnps_is_free) {
  ReactionPoint point(DcqcnConfig{}, kLine);
  point.on_sent(1'000'000, at_us(1));
  point.advance(at_us(1e6));
  EXPECT_FALSE(point.limiting());
  EXPECT_EQ(point.rate_bps(), kLine);
  EXPECT_EQ(point.next_increase(), Instant::max());
}

TEST(ReactionPoint, bytes_raise_the_rate_as_the_timer_does) {
  DcqcnConfig config;
  config.rpg_byte_reset = 1000;
  ReactionPoint point(config, kLine);
  point.on_cnp(at_us(0));
  const double cut = point.rate_bps(), target = point.target_bps();
  point.on_sent(999, at_us(1));
  EXPECT_EQ(point.rate_bps(), cut);
  point.on_sent(1, at_us(1));  // the first event: fast recovery
  EXPECT_DOUBLE_EQ(point.rate_bps(), (cut + target) / 2);
  // A cut behind byte increases alone leaves the target.
  point.on_cnp(at_us(50));
  EXPECT_EQ(point.target_bps(), target);
}

TEST(ReactionPoint, both_kinds_past_the_threshold_raise_the_target_by_hai) {
  DcqcnConfig config;
  config.rpg_byte_reset = 1000;
  config.rpg_hai_rate_mbps = 70;
  config.rate_to_set_on_first_cnp_mbps = 10000;
  ReactionPoint point(config, kLine);
  point.on_cnp(at_us(0));
  point.advance(at_us(600));  // two timed events, the second past the threshold: AI
  EXPECT_NEAR(point.target_bps() / kMega, 10005, 1e-6);
  point.on_sent(1000, at_us(601));  // one by bytes, not past: timed ones are, so AI
  EXPECT_NEAR(point.target_bps() / kMega, 10010, 1e-6);
  point.on_sent(1000, at_us(602));  // both past: HAI
  EXPECT_NEAR(point.target_bps() / kMega, 10080, 1e-6);
}

TEST(NotificationPoint, one_cnp_per_gap) {
  DcqcnConfig config;
  config.min_time_between_cnps_us = 4;
  NotificationPoint point(config);
  EXPECT_TRUE(point.on_marked(at_us(10)));
  EXPECT_FALSE(point.on_marked(at_us(13.999)));
  EXPECT_TRUE(point.on_marked(at_us(14)));
}

}  // namespace
}  // namespace lw::transport
