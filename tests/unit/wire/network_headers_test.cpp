// SPDX-License-Identifier: BSD-3-Clause
// Bytes are those of real frames of pcaps/rxe, as `tshark -x` prints them.
#include <gtest/gtest.h>

#include "support/header_laws.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/udp.h"
#include "wire/vlan.h"

namespace lw::wire {
namespace {

using test::expect_every_bit_is_a_field;
using test::expect_header_laws;
using test::from_hex;

TEST(EthernetHeader, ReadsAndWritesRxes) {  // atomic.pcap, frame 1
  expect_header_laws<Ethernet>(
      "52 54 00 77 00 01 52 54 00 77 00 02 08 00",
      EthernetFields{*parse_mac("52:54:00:77:00:01"), *parse_mac("52-54-00-77-00-02"), 0x0800});
}

TEST(VlanHeader, ReadsAndWritesRxes) {  // vlan100.pcap, frame 21
  const char* bytes = "00 64 08 00";
  expect_header_laws<Vlan>(bytes, VlanFields{.id = 100, .type = 0x0800});
  expect_every_bit_is_a_field<Vlan>(bytes, "00 00 00 00");
}

constexpr const char* kRxesIpv4 = "45 00 00 48 fa 2a 40 00 40 11 25 26 c0 a8 4d 02 c0 a8 4d 01";

TEST(Ipv4Header, ReadsAndWritesRxes) {  // atomic.pcap, frame 1
  expect_header_laws<Ipv4>(
      kRxesIpv4, Ipv4Fields{.total_length = 72,
                            .id = 0xfa2a,
                            .dont_fragment = true,
                            .checksum = 0x2526,
                            .source = std::get<Ipv4Address>(*parse_ip("192.168.77.2")),
                            .destination = std::get<Ipv4Address>(*parse_ip("192.168.77.1"))});
  // The version is not a field, it is what makes it IPv4; the flag beside DF is reserved.
  expect_every_bit_is_a_field<Ipv4>(kRxesIpv4,
                                    "f0 00 00 00 00 00 80 00 00 00 00 00 00 00 00 00 00 00 00 00");
}

TEST(Ipv4Header, ChecksumIsThatOfLinux) {
  const auto header = from_hex(kRxesIpv4);
  EXPECT_EQ(ipv4_checksum(header), 0x2526);
}

TEST(Ipv4Header, ChecksumUpdateEqualsAFreshOne) {
  auto header = from_hex(kRxesIpv4);
  for (unsigned tos = 0; tos < 256; ++tos) {
    header[1] = static_cast<std::byte>(tos);
    EXPECT_EQ(ipv4_checksum_update(0x2526, 0x4500, static_cast<std::uint16_t>(0x4500 | tos)),
              ipv4_checksum(header));
  }
}

constexpr const char* kRxesIpv6 =
    "60 00 00 00 00 1c 11 40 fd 00 00 77 00 00 00 00 00 00 00 00 00 00 00 02"
    "fd 00 00 77 00 00 00 00 00 00 00 00 00 00 00 01";

TEST(Ipv6Header, ReadsAndWritesRxes) {  // ipv6_rc.pcap, frame 2
  expect_header_laws<Ipv6>(
      kRxesIpv6, Ipv6Fields{.payload_length = 28,
                            .source = std::get<Ipv6Address>(*parse_ip("fd00:77::2")),
                            .destination = std::get<Ipv6Address>(*parse_ip("fd00:77::1"))});
}

TEST(Ipv6Header, SplitsClassAndLabel) {
  const auto bytes = from_hex("6b 81 23 45");
  Ipv6 header{};
  header.version_class_label = *view<Be32>(Bytes{bytes});
  EXPECT_EQ(header.version(), 6);
  EXPECT_EQ(header.dscp(), 46);
  EXPECT_EQ(header.ecn(), 0);
  EXPECT_EQ(header.traffic_class(), 0xb8);
  EXPECT_EQ(header.flow_label(), 0x12345u);
}

TEST(UdpHeader, ReadsAndWritesRxes) {  // atomic.pcap, frame 1
  expect_header_laws<Udp>("c4 00 12 b7 00 34 00 00", UdpFields{0xc400, 4791, 52, 0});
}

TEST(UdpSourcePort, FoldsTheFlowLabelAsLinuxDoes) {
  EXPECT_EQ(flow_label_to_source_port(0), 0xc000);
  EXPECT_EQ(flow_label_to_source_port(0x3fff), 0xffff);
  EXPECT_EQ(flow_label_to_source_port(0xfc000), 0xc03f);
}

// The port of a frame says which QPs it goes between: atomic.pcap goes between QP 0x20 and 0x20
// (0x20 * 0x20 = 0x400), and its frames come from port 0xc400.
TEST(UdpSourcePort, IsMadeOfTheQpnsAsRxesFramesShow) {
  EXPECT_EQ(flow_label_to_source_port(flow_label_of_qps(0x20, 0x20)), 0xc400);
}

std::vector<std::byte> ipv6_with(std::uint8_t next_header, std::string_view rest) {
  auto packet = from_hex(kRxesIpv6);
  packet[6] = std::byte{next_header};
  const auto more = from_hex(rest);
  packet.insert(packet.end(), more.begin(), more.end());
  return packet;
}

TEST(Ipv6Extensions, NoneIsTheUpperLayerAtOnce) {
  const auto payload = skip_extension_headers(ipv6_with(17, ""));
  EXPECT_EQ(payload.protocol, 17);
  EXPECT_EQ(payload.offset, 40u);
  EXPECT_TRUE(payload.complete);
  EXPECT_FALSE(payload.fragment);
}

TEST(Ipv6Extensions, HopByHopRoutingAndDestinationAreSkipped) {
  const auto payload =
      skip_extension_headers(ipv6_with(0,
                                       "2b 00 01 04 00 00 00 00"
                                       "3c 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
                                       "11 00 01 04 00 00 00 00"));
  EXPECT_EQ(payload.protocol, 17);
  EXPECT_EQ(payload.offset, 40u + 8 + 16 + 8);
  EXPECT_TRUE(payload.complete);
}

TEST(Ipv6Extensions, AuthenticationCountsInFours) {
  const auto payload = skip_extension_headers(ipv6_with(51,
                                                        "11 04 00 00 00 00 00 01 00 00 00 02"
                                                        "00 00 00 00 00 00 00 00 00 00 00 00"));
  EXPECT_EQ(payload.protocol, 17);
  EXPECT_EQ(payload.offset, 40u + 24);
}

TEST(Ipv6Extensions, FirstFragmentShowsItsUpperLayerLaterOnesDont) {
  const auto first = skip_extension_headers(ipv6_with(44, "11 00 00 01 00 00 00 07"));
  EXPECT_TRUE(first.fragment);
  EXPECT_TRUE(first.first_fragment);
  EXPECT_EQ(first.fragment_id, 7u);
  EXPECT_EQ(first.offset, 48u);
  const auto later = skip_extension_headers(ipv6_with(44, "11 00 05 a9 00 00 00 07"));
  EXPECT_TRUE(later.fragment);
  EXPECT_FALSE(later.first_fragment);
}

TEST(Ipv6Extensions, AWholePacketInAFragmentHeaderIsNoFragment) {
  const auto whole = skip_extension_headers(ipv6_with(44, "11 00 00 00 00 00 00 07"));
  EXPECT_FALSE(whole.fragment);
  EXPECT_EQ(whole.protocol, 17);
}

TEST(Ipv6Extensions, AChainThatLeavesThePacketIsIncomplete) {
  EXPECT_FALSE(skip_extension_headers(ipv6_with(0, "")).complete);
  EXPECT_FALSE(skip_extension_headers(ipv6_with(0, "11 ff 00 00 00 00 00 00")).complete);
  EXPECT_FALSE(skip_extension_headers(ipv6_with(44, "11 00 00")).complete);
}

TEST(Addresses, AreReadAndWrittenAsPeopleDo) {
  EXPECT_EQ(to_string(*parse_mac("02:00:5E:00:00:01")), "02:00:5e:00:00:01");
  EXPECT_EQ(to_string(*parse_ip("2001:0db8:0:0:0:0:0:1")), "2001:db8::1");
  EXPECT_EQ(to_string(*parse_ip("192.0.2.1")), "192.0.2.1");
  for (const char* wrong : {"", "02:00:5e:00:00", "02:00:5e:00:00:0g", "020:0:5e:00:00:01",
                            "02.00.5e.00.00.01", "02:00:5e:00:00:011"}) {
    EXPECT_FALSE(parse_mac(wrong)) << wrong;
  }
  for (const char* wrong : {"", "192.0.2", "192.0.2.256", "2001:db8:::1", "host"}) {
    EXPECT_FALSE(parse_ip(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace lw::wire
