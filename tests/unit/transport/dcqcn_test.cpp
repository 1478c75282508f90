// SPDX-License-Identifier: BSD-3-Clause
#include "transport/dcqcn.h"

#include <span>

#include <gtest/gtest.h>

#include "transport/queue_pair.h"
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
    {"release", 6000, test::k_release, [](DcqcnConfig& c) { c.rpg_ai_rate_mbps = 0; }},
    {"alpha_after_cut", 50, test::k_alpha_after_cut,
     [](DcqcnConfig& c) { c.alpha_update = AlphaUpdate::after_cut; }},
    {"reduce_far_target", 1000, test::k_reduce_far_target,
     [](DcqcnConfig& c) {
       c.rpg_gd = 10;
       c.rpg_min_dec_fac_percent = 1;
       c.reduce_far_target = true;
     }},
};

class TraceTest : public testing::TestWithParam<Case> {};

TEST_P(TraceTest, ten_cnps_by_hand) {
  DcqcnConfig config = timed_only();
  GetParam().change(config);
  ReactionPoint point(config, kLine);
  int cnp = 0;
  for (const TraceRow& row : GetParam().rows) {
    const Instant now = at_us(cnp++ * GetParam().gap_us);
    point.on_cnp(now);
    EXPECT_NEAR(point.alpha(now), row.alpha, 1e-5) << "CNP " << cnp;
    EXPECT_NEAR(point.rate_bps() / kMega, row.current, 1e-4) << "CNP " << cnp;
    EXPECT_NEAR(point.target_bps() / kMega, row.target, 1e-4) << "CNP " << cnp;
  }
  EXPECT_EQ(point.cnps_handled(), 10u);
}

INSTANTIATE_TEST_SUITE_P(Dcqcn, TraceTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ReactionPoint, a_flow_without_cnps_is_free) {
  const DcqcnConfig config;
  ReactionPoint point(config, kLine);
  point.on_sent(1'000'000, at_us(1));
  point.advance(at_us(1e6));
  EXPECT_FALSE(point.limiting());
  EXPECT_EQ(point.rate_bps(), kLine);
  EXPECT_EQ(point.next_increase(), Instant::max());
}

TEST(ReactionPoint, bytes_raise_the_rate_as_the_timer_does) {
  DcqcnConfig config;
  config.rpg_byte_reset = 1000;
  config.rpg_threshold = 2;
  ReactionPoint point(config, kLine);
  point.on_cnp(at_us(0));
  const double cut = point.rate_bps(), target = point.target_bps();
  point.on_sent(999, at_us(1));
  EXPECT_EQ(point.rate_bps(), cut);
  point.on_sent(1, at_us(1));  // the first event: fast recovery
  const double recovered = (cut + target) / 2;
  EXPECT_DOUBLE_EQ(point.rate_bps(), recovered);
  point.on_cnp(at_us(50));  // there was an increase: the target becomes the rate
  EXPECT_DOUBLE_EQ(point.target_bps(), recovered);
  point.on_cnp(at_us(60));  // there was none: it stays
  EXPECT_DOUBLE_EQ(point.target_bps(), recovered);
}

TEST(ReactionPoint, both_kinds_at_the_threshold_raise_the_target_by_hai_times_their_stage) {
  DcqcnConfig config;
  config.rpg_byte_reset = 1000;
  config.rpg_hai_rate_mbps = 70;
  config.rate_to_set_on_first_cnp_mbps = 10000;
  ReactionPoint point(config, kLine);
  point.on_cnp(at_us(0));
  point.advance(at_us(600));  // two timed events, both from the threshold of 1 on: AI twice
  EXPECT_NEAR(point.target_bps() / kMega, 10010, 1e-6);
  point.on_sent(1000, at_us(601));  // both kinds: HAI
  EXPECT_NEAR(point.target_bps() / kMega, 10080, 1e-6);
  point.on_sent(1000, at_us(602));  // two of each: the second stage
  EXPECT_NEAR(point.target_bps() / kMega, 10220, 1e-6);
  point.on_sent(1000, at_us(603));  // two timed ones hold the stage back
  EXPECT_NEAR(point.target_bps() / kMega, 10360, 1e-6);
}

TEST(ReactionPoint, a_flow_at_the_highest_rate_is_free_again) {
  const DcqcnConfig config = timed_only();
  ReactionPoint point(config, kLine);
  point.on_cnp(at_us(0));
  point.advance(at_us(300 * 15));
  EXPECT_TRUE(point.limiting());  // 50 Gb/s / 2^15 are missing, more than 1 Mb/s
  point.advance(at_us(300 * 16));
  EXPECT_FALSE(point.limiting());
  EXPECT_EQ(point.rate_bps(), kLine);
  EXPECT_EQ(point.next_increase(), Instant::max());
}

TEST(Pacing, a_packet_that_waited_for_the_port_keeps_its_credit) {
  QpConfig config;
  config.rate_control = RateControl::fixed;
  config.rate_bps = 8e9;  // 1 B/ns
  Pacing pacing(config);
  Packet packet;
  packet.payload = 4096;
  const Duration gap{wire_bytes(packet)};
  const Instant start = at_us(100);
  pacing.sent(packet, start);
  EXPECT_EQ(pacing.ready_at(start), start);  // the credit of the time before
  pacing.sent(packet, start);
  EXPECT_EQ(pacing.ready_at(start), start + gap);
  pacing.sent(packet, start + gap * 3 / 2);  // the port was busy for half a packet's time
  EXPECT_EQ(pacing.ready_at(start), start + 2 * gap);
  pacing.sent(packet, start + 10 * gap);  // it was idle: one packet's credit, no more
  EXPECT_EQ(pacing.ready_at(start), start + 10 * gap);
}

TEST(NotificationPoint, one_cnp_per_gap) {
  DcqcnConfig config;
  config.min_time_between_cnps_us = 4;
  NotificationPoint point(config);
  EXPECT_TRUE(point.on_marked(at_us(10)));
  EXPECT_FALSE(point.on_marked(at_us(13.999)));
  EXPECT_TRUE(point.on_marked(at_us(14)));
}

/// A QP with DCQCN that gets marked packets.
struct Marked {
  explicit Marked(const DcqcnConfig& dcqcn) : pair(config_of(dcqcn), memory, store) {
    set_headers(packet, pair.config());
    packet.opcode = 0x0a;  // RC WRITE ONLY
    packet.payload = 64;
    packet.congestion_experienced = true;
  }
  static QpConfig config_of(const DcqcnConfig& dcqcn) {
    QpConfig config;
    config.rate_control = RateControl::dcqcn;
    config.rate_bps = kLine;
    config.dcqcn = dcqcn;
    return config;
  }
  /// Whether the packet causes a CNP, which is then sent.
  bool notifies(Instant now) {
    pair.receive(packet, now);
    Packet sent;
    bool notified = false;
    while (pair.has_control()) {
      pair.next_control(sent);
      notified = notified || sent.opcode == kCnpOpcode;
    }
    return notified;
  }

  Memory memory{Memory::Kind::virtual_only, 0x1000, 4096, 1};
  PayloadStore store;
  QueuePair pair;
  Packet packet;
};

TEST(QueuePair, a_cnp_that_takes_time_is_ready_at_its_deadline) {
  DcqcnConfig dcqcn;
  dcqcn.cnp_delay_us = 55;
  Marked marked(dcqcn);
  EXPECT_FALSE(marked.notifies(at_us(10)));
  EXPECT_EQ(marked.pair.deadline(), at_us(65));
  marked.pair.expire(at_us(65));
  ASSERT_TRUE(marked.pair.has_control());
  Packet cnp;
  marked.pair.next_control(cnp);
  EXPECT_EQ(cnp.opcode, kCnpOpcode);
  EXPECT_EQ(marked.pair.deadline(), kNever);
}

TEST(QueuePair, qps_that_share_a_notification_point_share_its_time) {
  DcqcnConfig dcqcn;
  dcqcn.min_time_between_cnps_us = 50;
  Marked one(dcqcn), other(dcqcn);
  EXPECT_TRUE(one.notifies(at_us(10)));
  EXPECT_TRUE(other.notifies(at_us(20)));  // each has its own time
  NotificationPoint shared(dcqcn);
  one.pair.share_notifications(shared);
  other.pair.share_notifications(shared);
  EXPECT_TRUE(one.notifies(at_us(100)));
  EXPECT_FALSE(other.notifies(at_us(149)));
  EXPECT_TRUE(other.notifies(at_us(150)));
}

}  // namespace
}  // namespace lw::transport
