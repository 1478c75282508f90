// SPDX-License-Identifier: BSD-3-Clause
// Counters as the tools of several drivers print them, and what they say alone and beside a
// capture.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dissect/explain/counters/counter_report.h"
#include "support/captures.h"

namespace lw::dissect {
namespace counters_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

DeviceCounters parsed(std::string_view text) { return parse_port_counters(text, "f").value(); }

/// The counters of a file with one port that it does not name.
PortCounters of_one(std::string_view text) { return parsed(text).at(""); }

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
    return compare(DeviceCounters{{"", after}}, address);
  }
  CounterReport compare(const DeviceCounters& after, const std::string& address = {}) {
    return compare_counters(differences_of({}, after), evidence(), address).value();
  }
  Evidence evidence() { return {analyst, points, results.in_order(), totals, messages}; }

  CollectedResults results;
  analysis::Analyst analyst{results};
  CapturePoints points;
  CaptureTotals totals;
  MessageCounts messages;
};

/// What the differences of one port say without a capture.
CounterReport alone(const PortCounters& risen) {
  return read_counters_alone(differences_of({}, {{"", risen}})).at(0);
}

TEST(Counters, ReadsSysfsByPort) {
  EXPECT_THAT(
      parsed("/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:12\n"
             "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan:10\n"
             "/sys/class/infiniband/mlx5_1/ports/2/counters/port_xmit_packets:7\n"),
      ElementsAre(Pair("mlx5_0/1", ElementsAre(Pair("lifespan", 10), Pair("out_of_sequence", 12))),
                  Pair("mlx5_1/2", ElementsAre(Pair("port_xmit_packets", 7)))));
}

TEST(Counters, ReadsEthtool) {
  EXPECT_THAT(of_one("NIC statistics:\n     rx_icrc_encapsulated: 3\r\n     tx_prio0_pause : 4\n"),
              ElementsAre(Pair("rx_icrc_encapsulated", 3), Pair("tx_prio0_pause", 4)));
}

TEST(Counters, KeepsDevicesOfEthtoolApart) {
  EXPECT_THAT(
      parsed("eth0:\nNIC statistics:\n  rx_packets: 3\neth1\nNIC statistics:\n  rx_packets: 4\n"),
      ElementsAre(Pair("eth0", ElementsAre(Pair("rx_packets", 3))),
                  Pair("eth1", ElementsAre(Pair("rx_packets", 4)))));
  EXPECT_THAT(parsed("NIC statistics:\n  rx_packets: 3\nNIC statistics:\n  rx_packets: 4\n"),
              ElementsAre(Pair("", ElementsAre(Pair("rx_packets", 3))),
                          Pair("device 2", ElementsAre(Pair("rx_packets", 4)))));
}

TEST(Counters, ReadsRdmaStatistic) {
  EXPECT_THAT(parsed("link rxe0/1 sent_pkts 7 rcvd_pkts 8 \n    duplicate_request 9\n"),
              ElementsAre(Pair("rxe0/1", ElementsAre(Pair("duplicate_request", 9),
                                                     Pair("rcvd_pkts", 8), Pair("sent_pkts", 7)))));
}

TEST(Counters, ReadsRdmaStatisticInJson) {
  EXPECT_THAT(
      parsed(R"([{"ifname":"mlx5_0","port":1,"packet_seq_err":4,"np_cnp_sent":0},
                 {"ifname":"mlx5_1","port":1,"packet_seq_err":5}])"),
      ElementsAre(Pair("mlx5_0/1", ElementsAre(Pair("np_cnp_sent", 0), Pair("packet_seq_err", 4))),
                  Pair("mlx5_1/1", ElementsAre(Pair("packet_seq_err", 5)))));
}

TEST(Counters, ReadsNodeExporterByTheNamesOfTheDriver) {
  EXPECT_THAT(
      parsed(
          "# HELP node_infiniband_rnr_nak_retry_packets_received_total RNR NAKs\n"
          "node_infiniband_rnr_nak_retry_packets_received_total{device=\"mlx5_0\",port=\"1\"} 5\n"
          "node_infiniband_port_packets_received_total{device=\"mlx5_0\",port=\"1\"} 1.5e+06\n"
          "node_load1 3\n"),
      ElementsAre(Pair("mlx5_0/1", ElementsAre(Pair("port_rcv_packets", 1'500'000),
                                               Pair("rnr_nak_retry_err", 5)))));
}

TEST(Counters, KeepsPortsApart) {
  EXPECT_THAT(parsed("link a/1 np_cnp_sent 7\nlink b/1 np_cnp_sent 8\n"),
              ElementsAre(Pair("a/1", ElementsAre(Pair("np_cnp_sent", 7))),
                          Pair("b/1", ElementsAre(Pair("np_cnp_sent", 8)))));
}

TEST(Counters, TakesTheLargestAndPassesOverTheRest) {
  EXPECT_THAT(
      of_one("# a remark\nsent_pkts: 18446744073709551615\nrcvd_pkts: 18446744073709551616\n"
             "speed: 100Gb/s\nnegative: -1\n: 5\n12: 5\n"),
      ElementsAre(Pair("sent_pkts", 18446744073709551615U)));
}

TEST(Counters, NothingReadIsAnErrorWithItsLine) {
  for (const auto& [text, where] :
       {std::pair("", "f:1: "), {"\n\nno such device\n", "f:3: "}, {"speed: 1Gb/s", "f:1: "}}) {
    const auto read = parse_port_counters(text, "f");
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(where));
    EXPECT_THAT(read.error().message, HasSubstr("expected counters"));
  }
}

TEST(Counters, EachRelationHasItsContradiction) {
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
    const CounterReport report = capture.compare(PortCounters{{counter, counted}}, address);
    ASSERT_EQ(report.compared.size(), 1U);
    EXPECT_EQ(report.compared[0].contradicts, contradicts) << counter << " " << counted;
    EXPECT_EQ(report.host, address);
  }
}

TEST(Counters, SumsThatBelongTogether) {
  Capture capture("loss_write_sender_side.pcap");
  const CounterReport fits = capture.compare(
      PortCounters{{"local_ack_timeout_err", 1}, {"roce_adp_retrans", 2}}, "192.168.77.1");
  ASSERT_EQ(fits.compared.size(), 1U);
  EXPECT_EQ(fits.compared[0].name, "local_ack_timeout_err + roce_adp_retrans");
  EXPECT_EQ(fits.compared[0].counted, 3U);
  EXPECT_FALSE(fits.compared[0].contradicts);
  EXPECT_THAT(fits.compared[0].text, HasSubstr("1 + 2 = 3"));
  const CounterReport cnps = capture.compare(
      PortCounters{{"rp_cnp_handled", 144}, {"roce_slow_restart_cnps", 144}}, "192.168.77.2");
  ASSERT_EQ(cnps.compared.size(), 1U);
  EXPECT_FALSE(cnps.compared[0].contradicts);
}

TEST(Counters, RnrNaks) {
  Capture capture("rnr_nak.pcap");
  const CounterReport report =
      capture.compare(PortCounters{{"rcvd_rnr_err", 24}, {"send_rnr_err", 0}});
  EXPECT_EQ(report.host, "192.168.77.2");
  EXPECT_EQ(report.contradictions(), 0U);
  EXPECT_EQ(capture.compare(PortCounters{{"send_rnr_err", 24}}).host, "192.168.77.1");
}

TEST(Counters, ThePortThatFitsIsChosen) {
  Capture capture("loss_write_sender_side.pcap");
  const PortCounters fits{{"packet_seq_err", 4}, {"duplicate_request", 3}},
      other{{"packet_seq_err", 900}, {"duplicate_request", 1'000}};
  const CounterReport report = capture.compare({{"mlx5_0/1", other}, {"mlx5_1/1", fits}});
  EXPECT_EQ(report.port, "mlx5_1/1");
  EXPECT_EQ(report.host, "192.168.77.2");
  EXPECT_EQ(report.contradictions(), 0U);
  EXPECT_THAT(report.other_ports, ElementsAre("mlx5_0/1"));
}

TEST(Counters, MissingBeforeIsZeroAndSmallerIsReset) {
  Capture capture("rnr_nak.pcap");
  const auto differences = differences_of({{"", {{"sent_pkts", 10}, {"a", 1}, {"b", 1}}}},
                                          {{"", {{"sent_pkts", 9}, {"a", 1}, {"b", 2}, {"c", 1}}}});
  const auto report = compare_counters(differences, capture.evidence());
  ASSERT_TRUE(report);
  EXPECT_THAT(report->reset, ElementsAre("sent_pkts"));
  EXPECT_THAT(report->not_compared, ElementsAre("b", "c"));
  EXPECT_THAT(report->compared, IsEmpty());
}

TEST(Counters, SignsOfCongestionOfEachDriver) {
  for (const char* name :
       {"rx_global_pause", "rx_prio3_pause", "tx_prio3_pause", "rx_discards_phy", "tx_global_pause",
        "np_ecn_marked_roce_packets", "RxECNMrkd", "rx_ecn_marked_pkts"}) {
    const CounterReport report = alone({{name, 9'000}});
    EXPECT_TRUE(report.signs.show_congestion()) << name;
    EXPECT_THAT(report.signs.congestion_text(), HasSubstr(fmt::format("{} +9000", name)));
  }
  for (const char* name : {"packet_seq_err", "rnr_nak_retry_err", "rx_bytes", "sent_pkts"})
    EXPECT_FALSE(alone({{name, 9'000}}).signs.show_congestion()) << name;
}

TEST(Counters, CnpsOfSlowRestartDidNotComeFromTheNetwork) {
  EXPECT_FALSE(
      alone({{"rp_cnp_handled", 144}, {"roce_slow_restart_cnps", 144}}).signs.show_congestion());
  EXPECT_TRUE(
      alone({{"rp_cnp_handled", 150}, {"roce_slow_restart_cnps", 144}}).signs.show_congestion());
}

TEST(Counters, RnrNaksWithinTheLimitEndNoConnection) {
  const CounterReport report = alone({{"rnr_nak_retry_err", 7}});
  EXPECT_EQ(report.signs.of(CounterSign::ended), 0U);
  EXPECT_GT(report.signs.of(CounterSign::no_receives), 0U);
}

TEST(Counters, EachKnownNameIsListedOnceWithItsMeaning) {
  std::set<std::string_view> names;
  for (const CounterInfo& info : known_counters()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.what.empty() || info.drivers.empty()) << info.name;
    EXPECT_TRUE(info.same_as.empty() || find_counter(info.same_as) != nullptr) << info.name;
  }
}

}  // namespace counters_test
}  // namespace lw::dissect
