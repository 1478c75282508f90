// SPDX-License-Identifier: BSD-3-Clause
// Rows of the Open Traffic Generator model, and plans. What the rows say of the model is compared
// with its table by tests/e2e/gen_otg.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "gen/otg/offer.h"
#include "gen/otg/packet_frame.h"
#include "gen/otg/plan.h"
#include "gen/otg/rates.h"
#include "gen/otg/yaml.h"

namespace otg_test {

using namespace lw::gen::otg;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two hosts of 10.0.0.x at one port each, with QPs of these names to each other.
std::string config_of(const std::string& west, const std::string& east, const std::string& flows) {
  return R"({"ports": [{"name": "a", "location": "null,rate=10Gb/s"},
                       {"name": "b", "location": "null"}],
    "devices": [
    {"name": "1", "ethernets": [{"name": "e1", "mac": "02:00:00:00:00:01",
       "connection": {"port_name": "a"},
       "ipv4_addresses": [{"name": "i1", "address": "10.0.0.1", "gateway": "10.0.0.2"}]}],
     "rocev2": {"ipv4_interfaces": [{"ipv4_name": "i1", "peers": [
       {"name": "p1", "destination_ip_address": "10.0.0.2", "qps": [)" +
         west + R"(]}]}]}},
    {"name": "2", "ethernets": [{"name": "e2", "mac": "02:00:00:00:00:02",
       "connection": {"port_name": "b"},
       "ipv4_addresses": [{"name": "i2", "address": "10.0.0.2", "gateway": "10.0.0.1"}]}],
     "rocev2": {"ipv4_interfaces": [{"ipv4_name": "i2", "peers": [
       {"name": "p2", "destination_ip_address": "10.0.0.1", "qps": [)" +
         east + R"(]}]}]}}],
    "stateful_flows": {"rocev2": [{"tx_ports": [{"port_name": "a", "transmit_type":
      {"target_line_rate": {"value": 80, "flows": [)" +
         flows + "]}}}]}]}}";
}

struct Read {
  LabPlan plan;
  std::vector<std::string> problems;
};

Read read(const std::string& text) {
  ModelReader reader;
  Config config;
  reader.read(lw::parse_json(text), Config::message(), &config);
  Read result;
  if (reader.problems().empty()) result.plan = make_plan(config, reader);
  result.problems = reader.problems();
  return result;
}

constexpr const char* kTwo = R"({"qp_name": "w1"}, {"qp_name": "w2"})";
constexpr const char* kOthers = R"({"qp_name": "e1"}, {"qp_name": "e2"})";

TEST(OtgPlan, ConnectsQpsInOrder) {
  const auto [plan, problems] =
      read(config_of(kTwo, kOthers, R"({"name": "f", "tx_endpoint": "w2"})"));
  ASSERT_THAT(problems, IsEmpty());
  ASSERT_EQ(plan.qps.size(), 4U);
  EXPECT_EQ(plan.qps[0].partner, 2U);
  EXPECT_EQ(plan.qps[3].partner, 1U);
  EXPECT_EQ(plan.qps[1].order, plan.qps[3].order);
  EXPECT_NE(plan.qps[0].order, plan.qps[1].order);
  // The standard number is that of the first QP of an address; the next one gets the next.
  EXPECT_EQ(plan.qps[0].number, 2U);
  EXPECT_EQ(plan.qps[1].number, 3U);
  EXPECT_EQ(plan.qps[2].number, 2U);
  EXPECT_EQ(plan.qps[1].share_percent, 80);
  EXPECT_EQ(plan.qps[0].share_percent, 0);
  EXPECT_EQ(plan.flows[0].size, 1U << 20);
  EXPECT_EQ(plan.ports[0].line_bps, 10e9);
}

TEST(OtgPlan, ConnectsQpsAsFlowsSay) {
  const auto [plan, problems] =
      read(config_of(kTwo, kOthers, R"({"name": "f", "tx_endpoint": "w1", "rx_endpoint": "e2"},
                                  {"name": "g", "tx_endpoint": "w2"})"));
  ASSERT_THAT(problems, IsEmpty());
  EXPECT_EQ(plan.qps[0].partner, 3U);
  EXPECT_EQ(plan.qps[1].partner, 2U);
  EXPECT_EQ(plan.qps[0].share_percent, 40);
}

TEST(OtgPlan, RefusesAQpWithoutAnother) {
  const auto [plan, problems] = read(config_of(kTwo, R"({"qp_name": "e1"})", ""));
  EXPECT_THAT(problems, Contains(HasSubstr("QP \"w2\": 10.0.0.2 has no QP to connect it to")));
}

TEST(OtgPlan, RefusesTwoQpsOfOneNumber) {
  const std::string same = R"({"qp_name": "w1", "connection_type":
    {"reliable_connection": {"source_qp_number": 7}}}, {"qp_name": "w2", "connection_type":
    {"reliable_connection": {"source_qp_number": 7}}})";
  const auto [plan, problems] = read(config_of(same, kOthers, ""));
  EXPECT_THAT(problems, Contains(HasSubstr("qps[1].connection_type.reliable_connection."
                                           "source_qp_number: 7 is the number of another QP")));
}

TEST(OtgReader, NamesWhatItRefuses) {
  const auto problems_of = [](const std::string& text) { return read(text).problems; };
  EXPECT_THAT(problems_of(R"({"port": []})"),
              ElementsAre("port: Config has no such field: is it `ports`?"));
  EXPECT_THAT(problems_of("7"), ElementsAre("/: expected an object, found 7"));
  EXPECT_THAT(problems_of(R"({"ports": [{"name": "a"}]})"),
              ElementsAre("ports[0].location: expected a text, found nothing"));
  EXPECT_THAT(problems_of(R"({"stateful_flows": {"rocev2": [{"tx_ports": [{"port_name": "a",
    "transmit_type": {"target_line_rate": {"flows": [{"name": "f", "tx_endpoint": "q",
    "rocev2_verb": {"choice": "write", "send_with_immediate": {}}}]}}}]}]}})"),
              Contains(HasSubstr("rocev2_verb.send_with_immediate: is not the alternative that "
                                 "`choice` names, `write`")));
  EXPECT_THAT(problems_of(R"({"layer1": [{"name": "l", "port_names": [], "mtu": 9000}]})"),
              Contains(HasSubstr("layer1[0].mtu: only 1500 is supported")));
  EXPECT_THAT(problems_of(R"({"layer1": [{"name": "l", "port_names": [], "mtu": null}]})"),
              IsEmpty());
}

TEST(OtgPlan, RefusesPortsThatAreFiles) {
  for (const char* location : {"pcap:/tmp/in,/tmp/out", "net_tap0,iface=x"})
    EXPECT_THAT(read(R"({"ports": [{"name": "a", "location": ")" + std::string(location) + "\"}]}")
                    .problems,
                Contains(HasSubstr("ports[0].location: files, and arguments of DPDK")));
}

ValuePattern counting(const char* kind, Bits start, Bits step, std::uint64_t count) {
  ValuePattern pattern;
  pattern.choice = kind;
  pattern.increment = pattern.decrement = {start, step, count};
  return pattern;
}

TEST(OtgPattern, CountsAndBeginsAgain) {
  const ValuePattern up = counting("increment", 5, 3, 3), down = counting("decrement", 5, 3, 2);
  ValuePattern list;
  list.choice = "values";
  list.values = {7, 1};
  std::vector<int> values;
  for (std::uint64_t i = 0; i < 4; ++i)
    for (const ValuePattern* pattern : std::array<const ValuePattern*, 3>{&up, &down, &list})
      values.push_back(static_cast<int>(value_at(*pattern, i)));
  EXPECT_THAT(values, ElementsAre(5, 5, 7, 8, 2, 1, 11, 5, 7, 5, 2, 1));
  EXPECT_FALSE(is_constant(up));
  EXPECT_TRUE(is_constant(counting("increment", 5, 3, 0)));
}

TEST(OtgPattern, WritesBitsAndKeepsTheirNeighbours) {
  std::array<std::byte, 3> bytes{std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
  put_bits(bytes, 4, 12, 0x123);
  EXPECT_EQ(bytes, (std::array{std::byte{0xf1}, std::byte{0x23}, std::byte{0xff}}));
  put_bits(bytes, 13, 2, 0b110);  // its upper bits do not fit
  EXPECT_EQ(bytes[1], std::byte{0x25});
  put_bits(bytes, 7, 10, 0);
  EXPECT_EQ(bytes, (std::array{std::byte{0xf0}, std::byte{0}, std::byte{0x7f}}));
}

TEST(OtgPackets, ReadsHexadecimalBytes) {
  EXPECT_THAT(bytes_of_hex("0a 0B:ff").value(),
              ElementsAre(std::byte{0x0a}, std::byte{0x0b}, std::byte{0xff}));
  for (const char* text : {"0", "0g", "+1", "0x"}) EXPECT_FALSE(bytes_of_hex(text)) << text;
}

TEST(OtgYaml, HasTheScalarsOfJson) {
  EXPECT_EQ(
      json_of_yaml("a: 1\nb: [true, ~, 0.5, 'x', 007, 00:00:00:00:00:01]\n? c\n: \"2\"").value(),
      R"({"a":1,"b":[true,null,0.5,"x","007","00:00:00:00:00:01"],"c":"2"})");
}

TEST(OtgRates, AreThoseOfTheModel) {
  EXPECT_EQ(bps_of_speed("speed_400_gbps"), 400e9);
  EXPECT_FALSE(bps_of_speed("speed_3_gbps"));
  EXPECT_EQ(bytes_of_message(3, "bytes"), 3U);
  EXPECT_EQ(bytes_of_message(1, "gb"), std::uint64_t{1} << 30);
  // 4.096 us x 2^8 is 1.05 ms, and x 2^7 less than 1 ms.
  EXPECT_EQ(ack_timeout_of(std::chrono::milliseconds(1)), 8);
  EXPECT_EQ(ack_timeout_of({}), 0);
  DcqcnSettings settings;
  ModelReader::set_standards(DcqcnSettings::message(), &settings);
  const auto dcqcn = dcqcn_of(settings, {}, 100e9);
  EXPECT_EQ(dcqcn.rpg_min_dec_fac_percent, 90);
  EXPECT_DOUBLE_EQ(dcqcn.rpg_min_rate_mbps, 2);
  EXPECT_DOUBLE_EQ(dcqcn.rpg_hai_rate_mbps, 1);
  EXPECT_EQ(dcqcn.rpg_time_reset_us, 250);
}

TEST(OtgOffer, IsReadAsItWasWritten) {
  const QpOffer offer{
      .order = 3, .ib_mtu = 1027, .va = 1, .r_key = 2, .first_psn = 5, .read_bps = 7};
  EXPECT_EQ(read_offer(to_private_data(offer)), offer);
  QpOffer wrong = offer;
  wrong.ib_mtu = 63;
  EXPECT_FALSE(read_offer(to_private_data(wrong)));
  EXPECT_FALSE(read_offer({}));
}

}  // namespace otg_test
