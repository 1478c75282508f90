// SPDX-License-Identifier: BSD-3-Clause
#include "capture/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/capture/file_builder.h"

namespace lw::capture::test {
namespace {

/// IPv4 10.0.0.1 -> 10.0.0.2, UDP 50000 -> 4791, no payload; 28 bytes.
FileBuilder udp_packet() {
  FileBuilder packet(true);
  packet.u16(0x4500).u16(28).u32(0x4000).u16(0x4011).u16(0).u32(0x0a000001).u32(0x0a000002);
  return packet.u16(50000).u16(4791).u16(8).u16(0);
}

FileBuilder ethernet_frame() {
  return FileBuilder(true).raw("\x02____1\x02____2").u16(0x0800).raw(udp_packet().text());
}

bool matches(const std::string& expression, int link_type, const FileBuilder& frame) {
  const auto filter = Filter::compile(expression, link_type);
  EXPECT_TRUE(filter) << filter.error().message;
  return filter && filter->matches(frame.bytes(), static_cast<std::uint32_t>(frame.bytes().size()));
}

TEST(Filter, SelectsFramesOfEveryLinkType) {
  EXPECT_TRUE(matches("udp dst port 4791", kLinkTypeEthernet, ethernet_frame()));
  EXPECT_FALSE(matches("udp dst port 4792", kLinkTypeEthernet, ethernet_frame()));
  EXPECT_TRUE(matches("host 10.0.0.1 and udp port 4791", kLinkTypeRaw, udp_packet()));
  EXPECT_TRUE(matches("udp", kLinkTypeIpv4, udp_packet()));
  EXPECT_FALSE(matches("tcp", kLinkTypeRaw, udp_packet()));
}

std::string refusal(const std::string& expression) {
  const auto filter = Filter::compile(expression, kLinkTypeEthernet);
  return filter ? "" : filter.error().message;
}

TEST(Filter, LooksUpNoNames) {
  for (const char* named :
       {"host server1", "net loopback", "udp port domain", "ip proto \\tcp", "host 1.2.3.4.5",
        "portrange ftp-http", "ether host router", "len-4 > 2", "gateway box", "host a.b.c.d",
        "udp or host x", "(host 10.0.0.1 or localhost)", "ether proto \\ip", "port 1-2-3"})
    EXPECT_THAT(refusal(named), testing::HasSubstr("found the name")) << named;
  EXPECT_THAT(refusal("host 10.0.0.1 or server1"),
              testing::HasSubstr("character 18: expected an address, a number or a keyword"));
}

TEST(Filter, KnowsTheWordsOfTheLanguage) {
  for (const char* plain : {"host 10.0.0.1",
                            "host 2001:db8::1",
                            "host ::ffff:10.0.0.1",
                            "net 10",
                            "net 10.0",
                            "net 10.0.0.0/8",
                            "net 2001:db8::/32",
                            "net 10.0.0.0 mask 255.0.0.0",
                            "ether host 02:00:00:00:00:01",
                            "ether host 02-00-00-00-00-01",
                            "ether[0:2] = 0x200",
                            "udp port 4791 and udp[16:4] & 0xffffff = 77",
                            "portrange 6000-6008",
                            "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
                            "icmp[icmptype] = icmp-echo",
                            "not (udp||tcp)&&ip",
                            "!udp",
                            "vlan 100 and ip6",
                            "greater 1000",
                            "ip[6:2] & 0x1fff = 0",
                            "ip6 proto 17",
                            "len > 100",
                            "ip[0]&0xf!=5",
                            "ether broadcast",
                            "udp port 4791 or ether proto 0x8915",
                            "icmp6[icmp6type]=icmp6-echo",
                            "llc",
                            "mpls 1",
                            "pppoes 1",
                            "src or dst host 10.0.0.1"})
    EXPECT_EQ(refusal(plain), "") << plain;
}

TEST(Filter, RefusesWhatOnlyALiveCaptureKnows) {
  for (const char* live : {"inbound", "outbound", "not inbound", "ifindex 1",
                           "udp and not outbound", "not ifindex 7 or len > 100"})
    EXPECT_THAT(refusal(live), testing::HasSubstr("they would match nothing here")) << live;
  EXPECT_TRUE(Filter::compile("inbound", kLinkTypeLinuxSll));  // its header has the direction
}

TEST(Filter, BoundsWordsAndBytes) {
  std::string long_one = "port 1";
  for (int i = 2; i < 250; ++i) long_one += " or " + std::to_string(i);
  EXPECT_EQ(refusal(long_one), "");
  for (int i = 250; i < 20'000; ++i) long_one += " or " + std::to_string(i);
  EXPECT_THAT(refusal(long_one), testing::HasSubstr("expected at most 16384 bytes"));
  EXPECT_THAT(refusal(long_one.substr(0, 10'000)),
              testing::HasSubstr("expected at most 512 words"));
  EXPECT_THAT(refusal("udp" + std::string(5'000, '!')), testing::HasSubstr("512 words"));
  const std::string deep = std::string(8'000, '(') + "udp" + std::string(8'000, ')');
  EXPECT_EQ(refusal(deep).find("names"), std::string::npos);  // libpcap takes or refuses it
}

// libpcap's optimizer would need minutes for this one: it runs as compiled.
TEST(Filter, ALongProgramSelectsTheSameFrames) {
  std::string ranges = "udp portrange 1-2";
  for (int i = 2; i < 100; ++i)
    ranges += " or portrange " + std::to_string(2 * i) + "-" + std::to_string(2 * i + 1);
  EXPECT_FALSE(matches(ranges, kLinkTypeEthernet, ethernet_frame()));
  EXPECT_TRUE(matches(ranges + " or portrange 4790-4792", kLinkTypeEthernet, ethernet_frame()));
}

TEST(Filter, ABadExpressionIsAUsageErrorInLibpcapsWords) {
  const auto filter = Filter::compile("udp prot 4791", kLinkTypeEthernet);
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().exit, ExitCode::usage);
  EXPECT_THAT(filter.error().message, testing::HasSubstr("udp prot 4791"));
}

}  // namespace
}  // namespace lw::capture::test
