// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/flow/profile.h"

namespace lw::config {
namespace flow_profile_test {

Flow only_flow(std::string_view body) {
  auto profile = parse_flow_profile("[[flow]]\n" + std::string(body), "x.toml");
  if (!profile) {
    ADD_FAILURE() << profile.error().message;
    return {};
  }
  return profile->flows.at(0);
}

TEST(FlowProfile, AFlowNeedsNoKeyAtAll) {
  const Flow flow = only_flow("");
  EXPECT_EQ(flow.name, "flow0");
  EXPECT_EQ(flow.frame.encapsulation, wire::Encapsulation::ipv4);
  EXPECT_EQ(to_string(flow.frame.ipv4.source), "198.18.0.1");
  EXPECT_EQ(flow.frame.ipv4.ttl, 64);
  EXPECT_EQ(flow.frame.ipv4.ecn, 2);
  EXPECT_TRUE(flow.frame.bth.mig_req);
  EXPECT_EQ(flow.frame.bth.p_key, 0xffff);
  EXPECT_EQ(flow.message.operation, wire::Operation::send);
  EXPECT_EQ(flow.message.length, 1024u);
  EXPECT_EQ(flow.messages, 1000u);
  EXPECT_EQ(flow.repeat, 1u);
  EXPECT_EQ(flow.rate, (Rate{Rate::Unit::wire_bits, 1e9}));
  EXPECT_EQ(flow.burst, 1u);
  EXPECT_FALSE(flow.signature);
}

TEST(FlowProfile, AsksForTheNextHopWhereItIsTold) {
  EXPECT_FALSE(only_flow("").resolve_mac);
  EXPECT_TRUE(only_flow("destination_mac = \"arp\"").resolve_mac);
  const Flow flow = only_flow("destination_mac = \"arp\"\ngateway = \"198.18.0.254\"");
  EXPECT_EQ(flow.gateway, wire::parse_ip("198.18.0.254"));
  const auto station = parse_flow_profile(
      "[presence]\naddresses = [\"192.0.2.7\", \"2001:db8::7\"]\n[[flow]]\n", "x.toml");
  ASSERT_TRUE(station.has_value());
  EXPECT_TRUE(station->presence.wanted);
  EXPECT_EQ(station->presence.addresses.size(), 2u);
  EXPECT_FALSE(station->presence.mac.has_value());
}

TEST(FlowProfile, ReadsWhatAFlowSays) {
  const Flow flow = only_flow(R"(
name = "w"
source = "2001:db8::a"
destination = "2001:db8::b"
vlan = [200, 100]
vlan_priority = [6, 1]
dscp = 46
ecn = "not-ect"
ttl = 9
operation = "write_imm"
transport = "uc"
mtu = 4096
message_size = "1MiB"
messages = 10
repeat = "forever"
rate = "2 kframes/s"
burst = 32
va = "0xffff888000000000"
region = "3MiB"
immediate = 7
immediate_step = 2
payload = "text"
payload_text = "hello "
signature = true
)");
  EXPECT_EQ(flow.frame.encapsulation, wire::Encapsulation::ipv6);
  EXPECT_EQ(to_string(flow.frame.ipv6.destination), "2001:db8::b");
  EXPECT_EQ(flow.frame.ipv6.traffic_class, 46 << 2);
  EXPECT_EQ(flow.frame.ipv6.hop_limit, 9);
  ASSERT_EQ(flow.frame.vlans.size(), 2u);
  EXPECT_EQ(flow.frame.vlans[0].id, 200);
  EXPECT_EQ(flow.frame.vlans[1].priority, 1);
  EXPECT_EQ(flow.message.transport, wire::Transport::uc);
  EXPECT_TRUE(flow.message.immediate);
  EXPECT_EQ(flow.message.length, 1048576u);
  EXPECT_EQ(flow.frame.reth.va, 0xffff888000000000u);
  EXPECT_EQ(flow.frame.reth.dma_length, 1048576u);
  EXPECT_EQ(flow.va_slots, 3u);
  EXPECT_EQ(flow.repeat, std::nullopt);
  EXPECT_EQ(flow.rate, (Rate{Rate::Unit::frames, 2000}));
  EXPECT_EQ(flow.burst, 32u);
  EXPECT_EQ(flow.immediate_step, 2u);
  EXPECT_EQ(flow.payload.text, "hello ");
  EXPECT_TRUE(flow.signature);
}

TEST(FlowProfile, DefaultsReachEveryFlowAndFitNotAll) {
  const auto profile = parse_flow_profile(R"(
[defaults]
mtu = 256
va = 0x1000
immediate = 5
[[flow]]
[[flow]]
mtu = 512
operation = "cnp"
)",
                                          "x.toml");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->flows[0].message.mtu, 256u);
  EXPECT_EQ(profile->flows[1].message.mtu, 512u);
  EXPECT_TRUE(profile->flows[1].frame.bth.becn);
}

struct Refusal {
  const char* text;
  const char* message;
};

class Refusals : public testing::TestWithParam<Refusal> {};

TEST_P(Refusals, NamePlaceExpectedAndFound) {
  const auto profile = parse_flow_profile(GetParam().text, "x.toml");
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().message, GetParam().message);
  EXPECT_EQ(profile.error().exit, ExitCode::usage);
}

INSTANTIATE_TEST_SUITE_P(
    FlowProfile, Refusals,
    testing::Values(
        Refusal{"name = \"x\"\n", "x.toml:1:1: expected at least one [[flow]], found none"},
        Refusal{"flow = []\n", "x.toml:1:1: expected at least one [[flow]], found none"},
        Refusal{"[flow]\n", "x.toml:1:1: flow: expected [[flow]] tables, found a table"},
        Refusal{"[[flow]]\nrate = \"-1Gb/s\"\n",
                "x.toml:2:8: rate: expected a rate above 0 such as \"10Gb/s\" or \"20 kframes/s\", "
                "found \"-1Gb/s\""},
        Refusal{"[[flow]]\nrate = 5\n",
                "x.toml:2:8: rate: expected a rate above 0 such as \"10Gb/s\" or \"20 kframes/s\", "
                "found \"5\""},
        Refusal{"[[flow]]\ndst_pq = 5\n",
                "x.toml:2:1: unknown key \"dst_pq\": did you mean \"dst_qp\"?"},
        Refusal{"sede = 1\n[[flow]]\n", "x.toml:1:1: unknown key \"sede\": did you mean \"seed\"?"},
        Refusal{"[[flow]]\nxyzzy = 5\n", "x.toml:2:1: unknown key \"xyzzy\""},
        Refusal{"[[flow]]\ndst_qp = 0x1000000\n",
                "x.toml:2:10: dst_qp: expected a whole number from 0 to 16777215, found 16777216"},
        Refusal{"[[flow]]\nmtu = 1500\n",
                "x.toml:2:7: mtu: expected 256, 512, 1024, 2048 or 4096, found 1500"},
        Refusal{"[[flow]]\nsource = \"198.18.0.300\"\n",
                "x.toml:2:10: source: expected an IP address such as \"192.0.2.1\" or "
                "\"2001:db8::1\", found \"198.18.0.300\""},
        Refusal{"[[flow]]\nsource = \"::1\"\ndestination = \"1.2.3.4\"\n",
                "x.toml:3:15: destination: expected an IPv6 address like the source, found "
                "1.2.3.4"},
        Refusal{"[[flow]]\ntransport = \"ud\"\noperation = \"write\"\n",
                "x.toml:3:13: operation: UD has no WRITE"},
        Refusal{"[[flow]]\ntransport = \"ud\"\nmessage_size = 2000\n",
                "x.toml:3:16: message_size: a UD message must fit the MTU of 1024 bytes, got 2000"},
        Refusal{"[[flow]]\noperation = \"snd\"\n",
                "x.toml:2:13: operation: expected one of send, send_imm, send_inv, write, "
                "write_imm, read_request, read_response, ack, atomic_ack, cmp_swap, fetch_add, "
                "resync, flush, atomic_write, cnp, found \"snd\": did you mean \"send\"?"},
        Refusal{"[[flow]]\nimmediate = 5\n",
                "x.toml:2:13: immediate: expected no such key, as RC SEND ONLY has no such "
                "field"},
        Refusal{"[[flow]]\nva = 5\nmessage_size = 5000\n",
                "x.toml:2:6: va: expected no such key, as RC SEND LAST has no such field"},
        Refusal{"[[flow]]\nflow_label = 5\n",
                "x.toml:2:14: flow_label: expected no such key, as RC SEND ONLY has no such "
                "field"},
        Refusal{"[[flow]]\noperation = \"ack\"\nmessage_size = 5\n",
                "x.toml:3:16: message_size: expected no such key, as RC ACK has no such field"},
        Refusal{"[[flow]]\nvlan = [1, 2, 3]\n",
                "x.toml:2:8: vlan: expected at most two tags, found more"},
        Refusal{"[[flow]]\nvlan = 1\nvlan_priority = [1, 2]\n",
                "x.toml:3:17: vlan_priority: expected one value per VLAN tag (1), found 2"},
        Refusal{"[[flow]]\noperation = \"write\"\nregion = 10\n",
                "x.toml:3:10: region: expected at least one message of 1024 bytes, found 10"},
        Refusal{"[[flow]]\nmessages = 0\n",
                "x.toml:2:12: messages: expected a whole number from 1 to 0x10000000000, found 0"},
        Refusal{"[[flow]]\nrepeat = \"for ever\"\n",
                "x.toml:2:10: repeat: expected a whole number above 0, or \"forever\", found "
                "\"for ever\""},
        Refusal{"[[flow]]\nname = \"a\"\n[[flow]]\nname = \"a\"\n",
                "x.toml:4:8: name: expected a unique name, found \"a\" again"},
        Refusal{"[defaults]\nttl = 256\n[[flow]]\n[[flow]]\n",
                "x.toml:2:7: ttl: expected a whole number from 0 to 255, found 256"}));

TEST(Rate, ReadsBitsAndFrames) {
  EXPECT_EQ(*parse_rate("10Gb/s"), (Rate{Rate::Unit::wire_bits, 10e9}));
  EXPECT_EQ(*parse_rate("1000 frames/s"), (Rate{Rate::Unit::frames, 1000}));
  EXPECT_EQ(*parse_rate("20kframes/s"), (Rate{Rate::Unit::frames, 20e3}));
  EXPECT_EQ(*parse_rate("1.5 Mframes/s"), (Rate{Rate::Unit::frames, 1.5e6}));
  for (const auto* bad : {"", "frames/s", "0 frames/s", "-3 frames/s", "1 Gframes/s", "10",
                          "nan frames/s", "1e400 frames/s", "0Gb/s"}) {
    EXPECT_FALSE(parse_rate(bad)) << bad;
  }
}

TEST(FlowProfile, KeysOfExpectAreQuestionsOrFigures) {
  const auto parsed = parse_flow_profile(
      "[[flow]]\n[expect]\nloss = 0\nframes = \">= 10\"\nflows.w.not_sent = 0\n", "x.toml");
  ASSERT_TRUE(parsed) << parsed.error().message;
  std::vector<std::string> texts;
  for (const Expectation& each : parsed->expect) texts.push_back(each.text);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"loss <= 0", "flows.w.not_sent <= 0", "frames >= 10"}));
  const auto misspelt = parse_flow_profile("[[flow]]\n[expect]\nlosss = 0\n", "x.toml");
  ASSERT_FALSE(misspelt);
  EXPECT_NE(misspelt.error().message.find("loss"), std::string::npos);
}

TEST(ShippedFlowProfiles, Load) {
  const char* source = std::getenv("LONGWIRE_SOURCE");
  ASSERT_NE(source, nullptr);
  int count = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(source) / "profiles/flows")) {
    if (!file.is_regular_file()) continue;
    const auto profile = load_flow_profile(file.path().string());
    EXPECT_TRUE(profile) << profile.error().message;
    ++count;
  }
  EXPECT_GE(count, 6);
}

}  // namespace flow_profile_test
}  // namespace lw::config
