// SPDX-License-Identifier: BSD-3-Clause
// Bytes are Linux's: two network namespaces joined by a veth pair, 02:00:00:00:0a:01 (192.0.2.1,
// 2001:db8::1) and ...:02, one ping each way seen by `tcpdump -xx`.
#include <gtest/gtest.h>

#include "support/header_laws.h"
#include "wire/arp.h"
#include "wire/icmp.h"
#include "wire/pfc.h"

namespace lw::wire {
namespace {

using test::expect_every_bit_is_a_field;
using test::expect_header_laws;
using test::from_hex;

Ipv4Address v4(const char* text) { return std::get<Ipv4Address>(*parse_ip(text)); }
Ipv6Address v6(const char* text) { return std::get<Ipv6Address>(*parse_ip(text)); }

TEST(ArpHeader, ReadsAndWritesLinuxs) {
  const char* reply =
      "00 01 08 00 06 04 00 02 02 00 00 00 0a 02 c0 00 02 02 02 00 00 00 0a 01 c0 00 02 01";
  expect_header_laws<Arp>(reply, ArpFields{.operation = kArpReply,
                                           .sender_mac = *parse_mac("02:00:00:00:0a:02"),
                                           .sender = v4("192.0.2.2"),
                                           .target_mac = *parse_mac("02:00:00:00:0a:01"),
                                           .target = v4("192.0.2.1")});
  expect_every_bit_is_a_field<Arp>(reply, std::string(56, '0'));
  const auto bytes = from_hex(reply);
  EXPECT_TRUE(view<Arp>(Bytes{bytes})->is_ipv4_over_ethernet());
}

TEST(IcmpEchoHeader, ReadsAndWritesLinuxs) {
  const char* request = "08 00 21 1f 12 34 00 07";
  expect_header_laws<IcmpEcho>(request,
                               IcmpEchoFields{.checksum = 0x211f, .id = 0x1234, .sequence = 7});
  expect_every_bit_is_a_field<IcmpEcho>(request, "00 00 00 00 00 00 00 00");
}

TEST(IcmpEchoHeader, ChecksumsAreLinuxs) {
  EXPECT_EQ(icmp_checksum(from_hex("08 00 21 1f 12 34 00 07 6c6f 6e67 7769 7265")), 0);
  EXPECT_EQ(icmp_checksum(from_hex("00 00 00 00 12 34 00 07 6c6f 6e67 7769 7265")), 0x291f);
  EXPECT_EQ(icmpv6_checksum(v6("2001:db8::2"), v6("2001:db8::1"),
                            from_hex("81 00 00 00 12 34 00 07 6c6f 6e67 7769 7265")),
            0x4c5f);
  EXPECT_EQ(icmp_checksum(from_hex("01 02 03")), static_cast<std::uint16_t>(~0x0402));
}

TEST(NeighbourHeader, ReadsAndWritesLinuxs) {
  const char* advertisement =
      "88 00 80 71 60 00 00 00 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 02";
  expect_header_laws<Neighbour>(
      advertisement, NeighbourFields{.type = kNeighbourAdvertisement,
                                     .checksum = 0x8071,
                                     .flags = Neighbour::kSolicited | Neighbour::kOverride,
                                     .target = v6("2001:db8::2")});
  expect_every_bit_is_a_field<Neighbour>(advertisement, std::string(48, '0'));
}

TEST(LinkAddressOption, ReadsAndWritesLinuxs) {
  const char* option = "02 01 02 00 00 00 0a 02";
  expect_header_laws<LinkAddress>(
      option,
      LinkAddressFields{.type = kTargetLinkAddress, .mac = *parse_mac("02:00:00:00:0a:02")});
  expect_every_bit_is_a_field<LinkAddress>(option, std::string(16, '0'));
}

TEST(SolicitedNode, IsTheGroupThatLinuxAsks) {
  EXPECT_EQ(to_string(solicited_node(v6("fe80::ff:fe00:a02"))), "ff02::1:ff00:a02");
  EXPECT_EQ(to_string(mac_of_group(v6("ff02::1:ff00:a02"))), "33:33:ff:00:0a:02");
}

// No peer here sends one: the bytes are written by the standard's figure, and what is composed is
// read by tshark in tests/e2e/impair_pause.py.
TEST(PfcHeader, SaysWhichPrioritiesAreToBeSilentForHowLong) {
  PfcFields fields;
  fields.quanta[3] = 0xffff;
  fields.quanta[0] = 0;
  const char* bytes = "01 01 00 09 00 00 00 00 00 00 ff ff 00 00 00 00 00 00 00 00";
  expect_header_laws<Pfc>(bytes, fields);
  const auto frame = pfc_frame(*parse_mac("02:00:00:00:00:01"), fields);
  const auto expected = from_hex(std::string("01 80 c2 00 00 01 02 00 00 00 00 01 88 08 ") + bytes);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), frame.begin()));
  EXPECT_EQ(pfc_of(frame), fields);
}

TEST(PfcHeader, AnythingElseIsNone) {
  const auto sound = pfc_frame({}, {});
  ASSERT_TRUE(pfc_of(sound));
  for (const std::size_t at : {0, 5, 12, 13, 14, 15}) {
    auto frame = sound;
    frame[at] ^= std::byte{0x10};
    EXPECT_FALSE(pfc_of(frame)) << at;
  }
  for (std::size_t length = 0; length < sizeof(Ethernet) + sizeof(Pfc); ++length)
    EXPECT_FALSE(pfc_of(Bytes(sound).first(length)));
}

}  // namespace
}  // namespace lw::wire
