// SPDX-License-Identifier: BSD-3-Clause
// Envelopes around a real frame: pcaps/rxe/atomic.pcap, frame 2 (ATOMIC ACK over IPv4).
#include "roce/envelope.h"

#include <gtest/gtest.h>

#include "roce/frame.h"
#include "support/hex.h"
#include "wire/icrc.h"

namespace lw::roce {
namespace {

using test::from_hex;

constexpr const char* kMacs = "52 54 00 77 00 02 52 54 00 77 00 01";
constexpr const char* kIpPacket =
    "45 00 00 38 36 df 40 00 40 11 e8 81 c0 a8 4d 01 c0 a8 4d 02"
    "c4 00 12 b7 00 24 00 00 12 00 ff ff 00 00 00 20 00 c4 e4 e1 1f 00 00 01"
    "ef a7 7e c5 df 15 0d 79 48 4f 03 d6";

// A real RoCEv1 packet: the printed capture of REFERENCE 1.
constexpr const char* kRoceV1Packet =
    "60 00 00 00 00 38 1b 40 00 00 00 00 00 00 00 00 00 00 ff ff 0a 01 02 01"
    "00 00 00 00 00 00 00 00 00 00 ff ff 0a 01 02 02"
    "0a 70 ff ff 00 00 09 32 80 00 00 01 00 00 00 00 01 95 e3 c0 00 02 b7 5d 00 00 00 15"
    "52 44 4d 41 20 77 72 69 74 65 20 6f 70 65 72 61 74 69 6f 6e 00 00 00 00 dd 49 2f 73";

std::vector<std::byte> join(std::initializer_list<const char*> parts) {
  std::vector<std::byte> all;
  for (const char* part : parts) {
    const auto bytes = from_hex(part);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

IcrcVerdict verdict(const std::vector<std::byte>& frame, LinkType link = LinkType::ethernet) {
  return check_icrc(open_envelope(frame, frame.size(), link));
}

TEST(EnvelopeOf, PlainFrame) {
  const auto bytes = join({kMacs, "08 00", kIpPacket});
  const auto envelope = open_envelope(bytes);
  EXPECT_TRUE(envelope.is_roce());
  EXPECT_EQ(envelope.source(), "192.168.77.1");
  EXPECT_EQ(envelope.destination(), "192.168.77.2");
  EXPECT_EQ(envelope.bth_offset(), 42u);
  EXPECT_EQ(envelope.hop_limit(), 64);
  EXPECT_EQ(verdict(bytes), IcrcVerdict::ok);
}

TEST(EnvelopeOf, OneTwoAndThreeTags) {
  const auto one = join({kMacs, "81 00 00 64 08 00", kIpPacket});
  EXPECT_EQ(open_envelope(one).vlan_count, 1);
  EXPECT_EQ(open_envelope(one).vlans[0]->id(), 100);
  EXPECT_EQ(verdict(one), IcrcVerdict::ok);
  const auto two = join({kMacs, "88 a8 00 0a 81 00 20 64 08 00", kIpPacket});
  EXPECT_EQ(open_envelope(two).vlan_count, 2);
  EXPECT_EQ(open_envelope(two).vlans[0]->id(), 10);
  EXPECT_EQ(open_envelope(two).vlans[1]->priority(), 1);
  EXPECT_EQ(verdict(two), IcrcVerdict::ok);
  const auto three = join({kMacs, "88 a8 00 0a 88 a8 00 0b 81 00 20 64 08 00", kIpPacket});
  EXPECT_EQ(open_envelope(three).vlan_count, 2);
  EXPECT_EQ(verdict(three), IcrcVerdict::ok);
}

TEST(EnvelopeOf, LinuxCookedAndRawLinks) {
  EXPECT_EQ(verdict(join({kIpPacket}), LinkType::raw_ip), IcrcVerdict::ok);
  EXPECT_EQ(verdict(join({"00 00 00 01 00 06 52 54 00 77 00 01 00 00 08 00", kIpPacket}),
                    LinkType::linux_sll),
            IcrcVerdict::ok);
  EXPECT_EQ(
      verdict(join({"08 00 00 00 00 00 00 02 00 01 00 06 52 54 00 77 00 01 00 00", kIpPacket}),
              LinkType::linux_sll2),
      IcrcVerdict::ok);
}

TEST(EnvelopeOf, EthernetPaddingIsNoIcrc) {
  auto bytes = join({kMacs, "08 00", kIpPacket});
  bytes.resize(bytes.size() + 18, std::byte{0xee});
  EXPECT_EQ(verdict(bytes), IcrcVerdict::ok);
  EXPECT_EQ(parse(bytes)->payload_length, 0u);
}

TEST(EnvelopeOf, Ipv4OptionsAreCoveredAndPassed) {
  // The same datagram behind four bytes of options (NOPs). The ICRC is worked out here from its
  // definition with the byte-wise CRC of wire/, over a buffer masked by hand.
  auto bytes = join({kMacs,
                     "08 00 46 00 00 3c 36 df 40 00 40 11 e6 7c c0 a8 4d 01 c0 a8 4d 02"
                     "01 01 01 01"
                     "c4 00 12 b7 00 24 00 00 12 00 ff ff 00 00 00 20 00 c4 e4 e1"
                     "1f 00 00 01 ef a7 7e c5 df 15 0d 79 00 00 00 00"});
  const auto masked =
      join({"ff ff ff ff ff ff ff ff 46 ff 00 3c 36 df 40 00 ff 11 ff ff"
            "c0 a8 4d 01 c0 a8 4d 02 01 01 01 01"
            "c4 00 12 b7 00 24 ff ff 12 00 ff ff ff 00 00 20 00 c4 e4 e1"
            "1f 00 00 01 ef a7 7e c5 df 15 0d 79"});
  wire::store_icrc(std::span{bytes}.last(4), wire::crc32(0, masked));
  EXPECT_EQ(verdict(bytes), IcrcVerdict::ok);
  EXPECT_EQ(open_envelope(bytes).bth_offset(), 46u);
  EXPECT_NE(parse(bytes)->atomicacketh, nullptr);
}

TEST(EnvelopeOf, AnotherPortIsNotRoceWhateverTheSource) {
  auto bytes = join({kMacs, "08 00", kIpPacket});
  bytes[35] = std::byte{69};  // a low source port is entropy, not TFTP
  bytes[34] = std::byte{0};
  EXPECT_TRUE(open_envelope(bytes).is_roce());
  bytes[37] = std::byte{0xb8};
  EXPECT_FALSE(open_envelope(bytes).is_roce());
}

TEST(EnvelopeOf, FragmentsAreUnverifiable) {
  auto first = join({kMacs, "08 00", kIpPacket});
  first[20] = std::byte{0x20};
  EXPECT_EQ(verdict(first), IcrcVerdict::unverifiable);
  EXPECT_TRUE(open_envelope(first).first_fragment);
  auto later = first;
  later[21] = std::byte{5};
  EXPECT_EQ(verdict(later), IcrcVerdict::not_roce);
  EXPECT_TRUE(open_envelope(later).fragment);
  EXPECT_EQ(open_envelope(later).udp, nullptr);
}

TEST(EnvelopeOf, ContradictingLengthsAreUnverifiable) {
  auto bytes = join({kMacs, "08 00", kIpPacket});
  bytes[39] = std::byte{0x20};
  EXPECT_EQ(verdict(bytes), IcrcVerdict::unverifiable);
  EXPECT_EQ(parse(bytes)->defect->problem, Problem::length_mismatch);
}

TEST(EnvelopeOf, RoceV1FrameVerifiesWithAndWithoutItsFcs) {
  auto bytes = join({kMacs, "89 15", kRoceV1Packet});
  EXPECT_EQ(verdict(bytes), IcrcVerdict::ok);
  const std::uint32_t fcs = wire::crc32(0, bytes);
  bytes.resize(bytes.size() + 4);
  wire::store_icrc(std::span{bytes}.last(4), fcs);
  EXPECT_EQ(verdict(bytes), IcrcVerdict::ok);
  EXPECT_EQ(open_envelope(bytes).source(), "::ffff:10.1.2.1");
}

TEST(EnvelopeOf, RoceV1WithADamagedLengthIsUnverifiable) {
  for (const int bit : {0, 1, 2, 3, 4, 5, 6, 7}) {
    auto bytes = join({kMacs, "89 15", kRoceV1Packet});
    bytes[19] ^= static_cast<std::byte>(1 << bit);
    EXPECT_EQ(verdict(bytes), IcrcVerdict::unverifiable) << bit;
  }
}

TEST(EnvelopeOf, WhatIsNotRoceSaysSo) {
  const auto arp = join({kMacs, "08 06 00 01 08 00 06 04 00 01"});
  EXPECT_EQ(parse(arp).error().problem, Problem::not_roce);
  EXPECT_EQ(verdict(arp), IcrcVerdict::not_roce);
  EXPECT_EQ(verdict({}), IcrcVerdict::not_roce);
}

}  // namespace
}  // namespace lw::roce
