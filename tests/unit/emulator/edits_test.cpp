// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/stages/corrupt.h"
#include "emulator/stages/mark.h"
#include "roce/envelope.h"
#include "roce/traffic_class.h"
#include "support/path_frames.h"
#include "support/stage_runs.h"

namespace lw::emulator {
namespace edits_test {

using Frame = std::vector<std::byte>;

Frame roce_frame(std::uint8_t ecn, bool ipv6 = false) {
  roce::FrameFields fields;
  fields.encapsulation = ipv6 ? wire::Encapsulation::ipv6 : wire::Encapsulation::ipv4;
  fields.ipv4.dscp = 26;
  fields.ipv4.ecn = ecn;
  fields.ipv6.traffic_class = static_cast<std::uint8_t>(26 << 2 | ecn);
  fields.bth.opcode = 0x04;
  const std::vector<std::byte> payload(256, std::byte{0x5a});
  return roce::compose(fields, payload);
}

/// Places of the bits in which two frames differ, 0 the first byte's highest.
std::set<std::size_t> differing_bits(const Frame& a, const Frame& b) {
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t bit = 0; bit < 8; ++bit)
      if (((a[i] ^ b[i]) & (std::byte{0x80} >> static_cast<int>(bit))) != std::byte{})
        places.insert(8 * i + bit);
  return places;
}

Frame corrupted(const CorruptConfig& config, Frame frame, std::uint64_t number = 0) {
  const auto envelope = roce::open_envelope(frame);
  Corrupter(config, Chance(1, 2)).apply(frame, envelope, number);
  return frame;
}

TEST(Corrupt, FlipsAsManyDifferentBitsAsAskedAndTheIcrcTells) {
  const Frame frame = roce_frame(2);
  for (const std::uint32_t bits : {1U, 2U, 7U, 64U})
    for (std::uint64_t number = 0; number < 50; ++number) {
      const Frame after = corrupted({.probability = 1, .bits = bits}, frame, number);
      const auto places = differing_bits(frame, after);
      ASSERT_EQ(places.size(), bits);
      ASSERT_GE(*places.begin(), 8U * (14 + 20 + 8));        // the BTH's begin
      ASSERT_LT(*places.rbegin(), 8U * (frame.size() - 4));  // the ICRC's
    }
}

/// Of few bits no CRC is fooled, and what it doesn't cover, BTH byte 4, is left alone.
TEST(Corrupt, OfOneBitAtRandomTheIcrcAlwaysTells) {
  for (const bool ipv6 : {false, true}) {
    const Frame frame = roce_frame(2, ipv6);
    std::set<std::size_t> places;
    for (std::uint64_t number = 0; number < 40'000; ++number) {
      const Frame hit = corrupted({.probability = 1}, frame, number);
      ASSERT_EQ(roce::check_icrc(roce::open_envelope(hit)), roce::IcrcVerdict::bad);
      places.insert(*differing_bits(frame, hit).begin());
    }
    EXPECT_EQ(places.size(), 8U * (12 + 256 - 1));  // and all others are hit
  }
}

TEST(Corrupt, AFrameThatEndsBeforeTheOffsetIsNotForIt) {
  const Frame frame = roce_frame(2);
  const auto reaches = [&](CorruptConfig::Part part, std::uint32_t offset) {
    const CorruptConfig config{.probability = 1, .part = part, .offset = offset};
    return Corrupter(config, Chance(1, 2)).reaches(roce::open_envelope(frame));
  };
  EXPECT_TRUE(reaches(CorruptConfig::Part::packet, 12 + 255));
  EXPECT_FALSE(reaches(CorruptConfig::Part::packet, 12 + 256));  // the ICRC
  EXPECT_TRUE(reaches(CorruptConfig::Part::frame, static_cast<std::uint32_t>(frame.size()) - 1));
  EXPECT_FALSE(reaches(CorruptConfig::Part::frame, static_cast<std::uint32_t>(frame.size())));
}

/// A flip of the ICRC itself would be undone.
TEST(Corrupt, RecomputedEveryFrameChanges) {
  const Frame frame = roce_frame(2);
  const CorruptConfig config{
      .probability = 1, .part = CorruptConfig::Part::frame, .recompute_icrc = true};
  for (std::uint64_t number = 0; number < 2000; ++number)
    ASSERT_NE(corrupted(config, frame, number), frame);
  const auto reaches = [&](std::size_t from_end, std::uint32_t bits) {
    CorruptConfig at = config;
    at.offset = static_cast<std::uint32_t>(frame.size() - from_end);
    at.bits = bits;
    const bool does = Corrupter(at, Chance(1, 2)).reaches(roce::open_envelope(frame));
    EXPECT_NE(corrupted(at, frame), frame);
    return does;
  };
  EXPECT_FALSE(reaches(4, 1));
  EXPECT_FALSE(reaches(4, 32));
  EXPECT_TRUE(reaches(5, 9));
}

TEST(Corrupt, RecomputedTheIcrcIsRightAgain) {
  const Frame frame = roce_frame(2);
  for (std::uint64_t number = 0; number < 50; ++number) {
    const Frame after =
        corrupted({.probability = 1, .bits = 5, .recompute_icrc = true}, frame, number);
    EXPECT_NE(frame, after);
    EXPECT_EQ(roce::check_icrc(roce::open_envelope(after)), roce::IcrcVerdict::ok);
  }
}

/// The sum of a UDP datagram over IPv4 with its pseudo header; 0xffff: its checksum is right.
std::uint32_t udp_sum(const Frame& frame) {
  const auto envelope = roce::open_envelope(frame);
  const auto begin = envelope.transport_offset;
  const auto length = envelope.udp->length.get();
  std::uint32_t sum = 17U + length;
  const auto add = [&](std::size_t from, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      sum += std::to_integer<std::uint32_t>(frame[from + i]) << (i % 2 == 0 ? 8 : 0);
  };
  add(envelope.network_offset + 12, 8);
  add(begin, length);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

TEST(Corrupt, RecomputedAUdpChecksumIsRightAgain) {
  Frame frame = roce_frame(2);
  const auto checksum = roce::open_envelope(frame).transport_offset + 6;
  const std::uint32_t sum = udp_sum(frame);
  frame[checksum] = static_cast<std::byte>((0xffff - sum) >> 8);
  frame[checksum + 1] = static_cast<std::byte>(0xffff - sum);
  ASSERT_EQ(udp_sum(frame), 0xffffU);
  for (std::uint64_t number = 0; number < 50; ++number) {
    const Frame after =
        corrupted({.probability = 1, .bits = 5, .recompute_icrc = true}, frame, number);
    EXPECT_NE(frame, after);
    EXPECT_EQ(udp_sum(after), 0xffffU);
    EXPECT_EQ(roce::check_icrc(roce::open_envelope(after)), roce::IcrcVerdict::ok);
    EXPECT_NE(udp_sum(corrupted({.probability = 1, .bits = 1}, frame, number)), 0xffffU);
    const CorruptConfig anywhere{
        .probability = 1, .part = CorruptConfig::Part::frame, .recompute_icrc = true};
    EXPECT_NE(corrupted(anywhere, frame, number), frame);
  }
}

TEST(Corrupt, AtAnOffsetBitsStandInARow) {
  const Frame frame = roce_frame(2);
  const Frame after = corrupted(
      {.probability = 1, .bits = 3, .part = CorruptConfig::Part::frame, .offset = 50}, frame);
  EXPECT_THAT(differing_bits(frame, after), testing::ElementsAre(400, 401, 402));
  // An event may ask it of a frame that ends before: then they fall anywhere.
  const Frame shorter = corrupted({.probability = 1, .bits = 3, .offset = 9000}, frame);
  EXPECT_EQ(differing_bits(frame, shorter).size(), 3U);
}

/// Each of 8 x 60 bits about as often: chi-square with 479 degrees of freedom is below 606 but
/// once in 10^4.
TEST(Corrupt, HitsEveryBitAsOften) {
  const Frame frame = test::other_frame(60);
  std::vector<double> seen(480);
  constexpr std::uint64_t kFrames = 48'000;
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    const auto places = differing_bits(
        frame, corrupted({.probability = 1, .part = CorruptConfig::Part::frame}, frame, i));
    seen[*places.begin()] += 1;
  }
  double chi = 0;
  for (const double count : seen) chi += (count - 100) * (count - 100) / 100;
  EXPECT_LT(chi, 606);
}

TEST(Corrupt, OfWhatIsNotRoceTheLinkHeaderStays) {
  const Frame frame = test::other_frame(60);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto places = differing_bits(frame, corrupted({.probability = 1}, frame, i));
    ASSERT_GE(*places.begin(), 8U * 14);
  }
}

MarkVerdict judged(const MarkConfig& config, const Frame& frame, std::uint64_t queued = 0,
                   std::uint64_t number = 0) {
  return Marker(config, Chance(1, 2))
      .judge(roce::ecn_of(roce::open_envelope(frame)), number, 0, queued);
}

/// RFC 3168, 5: only a packet that says ECT may be set to CE.
TEST(Mark, IsForFramesThatSayEct) {
  const MarkConfig always{.probability = 1};
  EXPECT_EQ(judged(always, roce_frame(1)), MarkVerdict::mark);
  EXPECT_EQ(judged(always, roce_frame(2)), MarkVerdict::mark);
  EXPECT_EQ(judged(always, roce_frame(2, true)), MarkVerdict::mark);
  EXPECT_EQ(judged(always, roce_frame(0)), MarkVerdict::not_ect);
  EXPECT_EQ(judged(always, roce_frame(3)), MarkVerdict::already);
  EXPECT_EQ(judged(always, test::other_frame()), MarkVerdict::not_ect);
  EXPECT_EQ(judged({.probability = 1, .force = true}, roce_frame(0)), MarkVerdict::mark);
  EXPECT_EQ(judged({.probability = 1, .force = true}, test::other_frame()), MarkVerdict::not_ect);
}

TEST(Mark, RedFollowsTheQueue) {
  const MarkConfig red{.red = Red{1000, 3000, 0.2}};
  const auto share = [&](std::uint64_t queued) {
    int marked = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i)
      marked += judged(red, roce_frame(2), queued, i) == MarkVerdict::mark ? 1 : 0;
    return marked / 20'000.0;
  };
  EXPECT_EQ(share(1000), 0);
  EXPECT_NEAR(share(2000), 0.1, 0.01);
  EXPECT_NEAR(share(3000), 0.2, 0.013);
  EXPECT_EQ(share(3001), 1);
}

TEST(Mark, OnRedFramesWithoutEctAreDroppedWhereAsked) {
  const MarkConfig drop{.red = Red{0, 0, 1}, .not_ect = NotEct::drop};
  EXPECT_EQ(judged(drop, roce_frame(0), 1), MarkVerdict::drop);
  EXPECT_EQ(judged(drop, roce_frame(2), 1), MarkVerdict::mark);
  const MarkConfig pass{.red = Red{0, 0, 1}};
  EXPECT_EQ(judged(pass, roce_frame(0), 1), MarkVerdict::not_ect);
}

TEST(Mark, LeavesChecksumAndIcrcRight) {
  for (const bool ipv6 : {false, true}) {
    Frame frame = roce_frame(2, ipv6);
    roce::set_congestion_experienced(frame, roce::open_envelope(frame));
    const auto envelope = roce::open_envelope(frame);
    EXPECT_EQ(envelope.ecn(), 3);
    EXPECT_EQ(envelope.dscp(), 26);
    EXPECT_EQ(roce::check_icrc(envelope), roce::IcrcVerdict::ok);
    EXPECT_EQ(frame, roce_frame(3, ipv6));
  }
}

}  // namespace edits_test
}  // namespace lw::emulator
