// SPDX-License-Identifier: BSD-3-Clause
// A port's counters as the kernel's tools print them, and what they say beside a capture.
#include "dissect/explain/port_counters.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/captures.h"

namespace lw::dissect {
namespace port_counters_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

PortCounters parsed(std::string_view text) { return parse_port_counters(text, "f").value(); }

/// A capture of pcaps/rxe with its analysis.
struct Capture {
  explicit Capture(const std::string& name) {
    const auto path = (lw::test::source_root() / "pcaps" / "rxe" / name).string();
    FrameSource source = FrameSource::open(path).value();
    points = CapturePoints::decide(source).value();
    EXPECT_FALSE(analyse(source, analyst, points, 1, &totals));
    results.in_order();
  }
  CounterReport compare(const PortCounters& after, const std::string& address = {}) {
    return compare_counters({}, after, evidence(), address).value();
  }
  Evidence evidence() { return {analyst, points, results.in_order(), totals, messages}; }

  CollectedResults results;
  analysis::Analyst analyst{results};
  CapturePoints points;
  CaptureTotals totals;
  MessageCounts messages;
};

TEST(PortCounters, ReadsSysfs) {
  EXPECT_THAT(parsed("/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:12\n"
                     "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan:10\n"),
              ElementsAre(Pair("lifespan", 10), Pair("out_of_sequence", 12)));
}

TEST(PortCounters, ReadsEthtool) {
  EXPECT_THAT(parsed("NIC statistics:\n     rx_icrc_encapsulated: 3\r\n     tx_prio0_pause : 4\n"),
              ElementsAre(Pair("rx_icrc_encapsulated", 3), Pair("tx_prio0_pause", 4)));
}

TEST(PortCounters, ReadsRdmaStatistic) {
  EXPECT_THAT(
      parsed("link rxe0/1 sent_pkts 7 rcvd_pkts 8 \n    duplicate_request 9\n"),
      ElementsAre(Pair("duplicate_request", 9), Pair("rcvd_pkts", 8), Pair("sent_pkts", 7)));
}

TEST(PortCounters, AddsPorts) {
  EXPECT_THAT(parsed("link a/1 np_cnp_sent 7\nlink b/1 np_cnp_sent 8\n"),
              ElementsAre(Pair("np_cnp_sent", 15)));
}

TEST(PortCounters, TakesTheLargestAndPassesOverTheRest) {
  EXPECT_THAT(
      parsed("# a remark\nsent_pkts: 18446744073709551615\nrcvd_pkts: 18446744073709551616\n"
             "speed: 100Gb/s\nnegative: -1\n: 5\n12: 5\n"),
      ElementsAre(Pair("sent_pkts", 18446744073709551615U)));
}

TEST(PortCounters, NothingReadIsAnErrorWithItsLine) {
  for (const auto& [text, where] :
       {std::pair("", "f:1: "), {"\n\nno such device\n", "f:3: "}, {"speed: 1Gb/s", "f:1: "}}) {
    const auto read = parse_port_counters(text, "f");
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(where));
    EXPECT_THAT(read.error().message, HasSubstr("expected counters"));
  }
}

TEST(PortCounters, EachRelationHasItsContradiction) {
  Capture capture("loss_write_sender_side.pcap");
  const std::string requester = "192.168.77.2", responder = "192.168.77.1";
  struct Case {
    const char* counter;
    const std::string& address;
    std::uint64_t counted;
    bool contradicts;
  };
  for (const auto& [counter, address, counted, contradicts] :
       {Case{"packet_seq_err", requester, 4, false},
        {"packet_seq_err", requester, 3, true},
        {"packet_seq_err", requester, 5, true},
        {"packet_seq_err", responder, 4, true},
        {"out_of_sequence", responder, 4, false},
        {"out_of_sequence", responder, 40, false},
        {"out_of_sequence", responder, 3, true},
        {"duplicate_request", responder, 54, false},
        {"duplicate_request", responder, 55, true},
        {"local_ack_timeout_err", responder, 3, false},
        {"local_ack_timeout_err", responder, 2, true},
        {"rnr_nak_retry_err", requester, 1, true},
        {"np_cnp_sent", requester, 1, true},
        {"np_cnp_sent", requester, 0, false}}) {
    const CounterReport report = capture.compare({{counter, counted}}, address);
    ASSERT_EQ(report.compared.size(), 1U);
    EXPECT_EQ(report.compared[0].contradicts, contradicts) << counter << " " << counted;
    EXPECT_EQ(report.host, address);
  }
}

TEST(PortCounters, RnrNaks) {
  Capture capture("rnr_nak.pcap");
  const CounterReport report = capture.compare({{"rcvd_rnr_err", 24}, {"send_rnr_err", 0}});
  EXPECT_EQ(report.host, "192.168.77.2");
  EXPECT_TRUE(std::ranges::none_of(report.compared, &CounterComparison::contradicts));
  EXPECT_EQ(capture.compare({{"send_rnr_err", 24}}).host, "192.168.77.1");
}

TEST(PortCounters, MissingBeforeIsZeroAndSmallerIsReset) {
  Capture capture("rnr_nak.pcap");
  const auto report =
      compare_counters({{"sent_pkts", 10}, {"a", 1}, {"b", 1}},
                       {{"sent_pkts", 9}, {"a", 1}, {"b", 2}, {"c", 1}}, capture.evidence());
  ASSERT_TRUE(report);
  EXPECT_THAT(report->reset, ElementsAre("sent_pkts"));
  EXPECT_THAT(report->not_compared, ElementsAre("b", "c"));
  EXPECT_THAT(report->compared, IsEmpty());
}

}  // namespace port_counters_test
}  // namespace lw::dissect
