// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "config/flow/profile.h"

namespace lw::config {
namespace flow_range_test {

FlowProfile parsed(std::string_view text) {
  auto profile = parse_flow_profile(text, "x.toml");
  if (profile) return *profile;
  ADD_FAILURE() << profile.error().message;
  return {};
}

std::string refusal(std::string_view text) {
  const auto profile = parse_flow_profile(text, "x.toml");
  return profile ? "" : profile.error().message;
}

TEST(FlowRange, StepsRiseFromQpToQp) {
  const auto profile = parsed(R"([[flow]]
qps = 3
operation = "write"
dst_qp = 0xfffffe
src_qp = 10
src_qp_step = 5
source = "10.0.0.255"
source_step = 1
source_mac_step = 256
va = "0xfffffffffffffff0"
va_step = 16
rkey_step = 2
first_psn = 0xffffff
first_psn_step = 1
source_port = 50000
source_port_step = 7
rate = "3Gb/s"
[[flow]]
)");
  ASSERT_EQ(profile.flows.size(), 4u);
  const auto& third = profile.flows[2];
  EXPECT_EQ(third.frame.bth.dest_qp, 0u);
  EXPECT_EQ(third.frame.deth.src_qp, 20u);
  EXPECT_EQ(to_string(third.frame.ipv4.source), "10.0.1.1");
  EXPECT_EQ(to_string(third.frame.ipv4.destination), "198.18.0.2");
  EXPECT_EQ(to_string(third.frame.source_mac), "02:00:00:00:02:01");
  EXPECT_EQ(third.frame.reth.va, 16u);
  EXPECT_EQ(third.frame.reth.r_key, 0x1238u);
  EXPECT_EQ(third.message.first_psn.value(), 1u);
  EXPECT_EQ(third.frame.source_port, 50014);
  EXPECT_EQ(third.rate.value, 1e9);
  EXPECT_EQ(full_name(third), "flow0[2]");
  EXPECT_EQ(third.id, 2u);
  EXPECT_EQ(profile.flows[3].id, 3u);
  EXPECT_EQ(full_name(profile.flows[3]), "flow1");
}

TEST(FlowRange, ListsAreGoneThroughInTurn) {
  const auto profile = parsed(R"([[flow]]
qps = 5
source = ["2001:db8::1", "2001:db8::9"]
source_step = 0x100
dst_qp = [7, 3, 5]
dst_qp_step = 100
)");
  std::vector<std::uint32_t> qps;
  for (const auto& flow : profile.flows) qps.push_back(flow.frame.bth.dest_qp);
  EXPECT_EQ(qps, (std::vector<std::uint32_t>{7, 3, 5, 107, 103}));
  EXPECT_EQ(to_string(profile.flows[3].frame.ipv6.source), "2001:db8::109");
}

TEST(FlowRange, EachQpHasLinuxsSourcePort) {
  const auto profile = parsed("[[flow]]\nqps = 2\nsource_port = \"linux\"\n");
  EXPECT_EQ(profile.flows[0].frame.source_port, 0xc132);  // 0x11 * 0x12
  EXPECT_EQ(profile.flows[1].frame.source_port, 0xc156);  // 0x12 * 0x13
}

TEST(FlowRange, WrongRangesAreRefused) {
  EXPECT_EQ(refusal("[[flow]]\ndst_qp = [1, 2]\n"),
            "x.toml:2:10: dst_qp: expected at most one value per QP (1), found 2");
  EXPECT_EQ(refusal("[[flow]]\ndst_qp = []\n"),
            "x.toml:2:10: dst_qp: expected at least one value, found none");
  EXPECT_EQ(refusal("[[flow]]\nqps = 2\nsource = [\"1.2.3.4\", \"::1\"]\n"),
            "x.toml:3:10: source: expected addresses of one family, found two");
  EXPECT_EQ(refusal("[[flow]]\nqps = 2\nva_step = 3\n"),
            "x.toml:3:11: va_step: expected no such key, as RC SEND ONLY has no such field");
}

TEST(Link, WhatDoesNotFitIsRefusedWithTheSum) {
  EXPECT_EQ(refusal(R"(link = "10Gb/s"
[[flow]]
name = "a"
rate = "6Gb/s"
[[flow]]
name = "b"
rate = "50%"
)"),
            "x.toml:1:8: link: expected at least a 6.00 Gb/s + b 5.00 Gb/s = 11.00 Gb/s on the "
            "wire, found 10.00 Gb/s");
  EXPECT_EQ(refusal("[[flow]]\nrate = \"50%\"\n"),
            "x.toml:2:8: rate: expected a link rate at the top of the profile, such as "
            "link = \"100Gb/s\", found none");
  EXPECT_EQ(refusal("link = \"1Gb/s\"\n[[flow]]\narrival = \"back_to_back\"\n"), "");
  // It sends at 4 Gb/s while it is on.
  EXPECT_NE(refusal("link = \"3Gb/s\"\n[[flow]]\nrate = \"2Gb/s\"\narrival = \"on_off\"\n"), "");
}

TEST(Rates, AreTheSameInAllTheirWords) {
  // 1082 B and 24 of preamble, FCS and gap.
  for (const auto* rate :
       {"rate = \"8.848Gb/s\"", "rate = \"1 Mframes/s\"", "rate = \"1 Mmessages/s\"",
        "goodput = \"8.192Gb/s\"", "rate = \"8.848%\""}) {
    const auto profile = parsed("link = \"100Gb/s\"\n[[flow]]\n" + std::string(rate) + "\n");
    EXPECT_NEAR(mean_wire_bits(profile.flows.at(0)), 8.848e9, 1) << rate;
  }
}

TEST(Faults, WrongOnesAreRefused) {
  const auto of = [](std::string_view flow, std::string_view fault) {
    return refusal("[[flow]]\n" + std::string(flow) + "\nfault = [{ " + std::string(fault) +
                   " }]\n");
  };
  EXPECT_EQ(of("", "kind = \"bad_icrc\", frames = [1]"), "");
  EXPECT_NE(of("", "kind = \"bad_icrc\""), "");
  EXPECT_NE(of("", "kind = \"bad_icrc\", rate = \"10%\", frames = [1]"), "");
  EXPECT_NE(of("", "kind = \"bad_icr\", rate = \"10%\""), "");
  EXPECT_NE(of("", "rate = \"10%\""), "");
  EXPECT_NE(of("", "kind = \"first_after_first\", rate = \"10%\""), "");
  EXPECT_NE(of("message_size = 2000", "kind = \"short_middle\", rate = \"10%\""), "");
  EXPECT_NE(of("operation = \"ack\"", "kind = \"middle_without_first\", rate = \"10%\""), "");
  EXPECT_NE(of("operation = \"cnp\"", "kind = \"psn_gap\", rate = \"10%\""), "");
  EXPECT_NE(of("encapsulation = \"rocev1\"", "kind = \"wrong_udp_length\", rate = \"10%\""), "");
}

}  // namespace flow_range_test
}  // namespace lw::config
