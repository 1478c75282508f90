// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/match/match.h"

#include <gtest/gtest.h>

#include "support/path_frames.h"

namespace lw::emulator {
namespace match_test {

const wire::Bth* bth_in(std::span<const std::byte> frame) {
  return bth_of(roce::open_envelope(frame));
}

roce::FrameFields fields_of(wire::Encapsulation encapsulation, int vlans) {
  roce::FrameFields fields;
  fields.bth.opcode = 0x04;
  fields.bth.dest_qp = 0x1234;
  fields.encapsulation = encapsulation;
  fields.vlans.resize(static_cast<std::size_t>(vlans));
  return fields;
}

TEST(Match, RoceV2OverEitherIpWithAnyTags) {
  for (const auto encapsulation : {wire::Encapsulation::ipv4, wire::Encapsulation::ipv6})
    for (const int vlans : {0, 1, 2}) {
      const auto frame = roce::compose(fields_of(encapsulation, vlans), {});
      const auto* bth = bth_in(frame);
      ASSERT_NE(bth, nullptr);
      EXPECT_EQ(bth->dest_qp.get(), 0x1234U);
    }
}

TEST(Match, OtherFramesAreNoneOfItsBusiness) {
  EXPECT_EQ(bth_in(test::other_frame()), nullptr);
  EXPECT_EQ(bth_in({}), nullptr);
  // RoCEv1 is another ethertype, not UDP 4791.
  EXPECT_EQ(bth_in(roce::compose(fields_of(wire::Encapsulation::grh, 0), {})), nullptr);
}

TEST(Match, TheDestinationPortDecidesAlone) {
  auto frame = test::roce_frame();
  constexpr std::size_t kUdp = 34;
  frame[kUdp + 2] = std::byte{0x12};  // destination
  frame[kUdp + 3] = std::byte{0xb6};
  EXPECT_EQ(bth_in(frame), nullptr);
  frame[kUdp] = std::byte{0x12};  // source 4791
  frame[kUdp + 1] = std::byte{0xb7};
  EXPECT_EQ(bth_in(frame), nullptr);
}

/// 16 bits of the frame, in network order.
void put(std::vector<std::byte>& frame, std::size_t at, std::size_t value) {
  frame[at] = static_cast<std::byte>(value >> 8);
  frame[at + 1] = static_cast<std::byte>(value & 0xff);
}

/// However many bytes come behind them (padding, at least), both lengths must have room for a BTH
/// and an ICRC. The short cut goes by the same.
TEST(Match, LengthsThatEndBeforeAnIcrcAreNotMatched) {
  constexpr std::size_t kLeast = 8 + 12 + 4;
  for (const auto encapsulation : {wire::Encapsulation::ipv4, wire::Encapsulation::ipv6})
    for (const int vlans : {0, 1}) {
      const bool v4 = encapsulation == wire::Encapsulation::ipv4;
      const std::vector<std::byte> payload(64);
      const auto frame = roce::compose(fields_of(encapsulation, vlans), payload);
      const std::size_t ip = vlans ? 18 : 14, udp = ip + (v4 ? 20 : 40);
      for (std::size_t length = 0; length <= frame.size() - udp; ++length) {
        auto by_udp = frame, by_ip = frame;
        put(by_udp, udp + 4, length);
        put(by_ip, v4 ? ip + 2 : ip + 4, v4 ? 20 + length : length);
        EXPECT_EQ(bth_in(by_udp) != nullptr, length >= kLeast) << length;
        EXPECT_EQ(bth_in(by_ip) != nullptr, length >= kLeast) << length;
        const bool plain = v4 && vlans == 0;
        EXPECT_EQ(roce::is_plain_rocev2(by_udp), plain && length >= kLeast) << length;
        EXPECT_EQ(roce::is_plain_rocev2(by_ip), plain && length >= kLeast) << length;
      }
    }
}

TEST(Match, PaddingBehindAShortPacketIsNothing) {
  auto frame = test::roce_frame(0x11, 0, 0);
  ASSERT_EQ(frame.size(), 58U);
  frame.resize(60);
  EXPECT_NE(bth_in(frame), nullptr);
  EXPECT_TRUE(roce::is_plain_rocev2(frame));
}

TEST(Match, FragmentsAreNotMatched) {
  auto frame = test::roce_frame();
  constexpr std::size_t kFlags = 14 + 6;
  frame[kFlags] = std::byte{0x20};  // more fragments: the first piece
  EXPECT_EQ(bth_in(frame), nullptr);
  frame[kFlags] = std::byte{0x00};
  frame[kFlags + 1] = std::byte{0x10};  // a later piece
  EXPECT_EQ(bth_in(frame), nullptr);
}

TEST(Match, EveryTruncationOfTheHeadersIsNotMatched) {
  const auto frame = test::roce_frame();
  constexpr std::size_t kBthEnd = 14 + 20 + 8 + 12;
  for (std::size_t size = 0; size < frame.size(); ++size) {
    const auto cut = std::span(frame).first(size);
    EXPECT_EQ(bth_in(cut) != nullptr, size >= kBthEnd) << size;
  }
}

}  // namespace match_test
}  // namespace lw::emulator
