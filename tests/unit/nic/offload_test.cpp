// SPDX-License-Identifier: BSD-3-Clause
#include "nic/offload.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "nic/interface.h"

namespace lw::nic {
namespace offload_test {

using Frame = std::vector<std::byte>;

Frame bytes(std::initializer_list<int> values) {
  Frame frame;
  for (const int value : values) frame.push_back(static_cast<std::byte>(value));
  return frame;
}

void append(Frame& frame, const Frame& more) {
  frame.insert(frame.end(), more.begin(), more.end());
}

unsigned u16(const Frame& frame, std::size_t at) {
  return std::to_integer<unsigned>(frame.at(at)) << 8 | std::to_integer<unsigned>(frame.at(at + 1));
}
unsigned u32(const Frame& frame, std::size_t at) {
  return u16(frame, at) << 16 | u16(frame, at + 2);
}

/// One's complement sum of 16-bit words, written for clarity.
unsigned sum_of(const Frame& data, std::size_t begin, std::size_t end, unsigned total = 0) {
  for (std::size_t i = begin; i < end; ++i)
    total += std::to_integer<unsigned>(data[i]) << ((i - begin) % 2 ? 0 : 8);
  while (total >> 16) total = (total & 0xffff) + (total >> 16);
  return total;
}

Frame payload(std::size_t size) {
  Frame data(size);
  for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 256);
  return data;
}

constexpr int kFin = 1, kPsh = 8, kAck = 16, kCwr = 128;

struct Packet {
  bool ipv6 = false, udp = false, dont_fragment = true;
  Frame inner_tags = {};  // in the frame
  int id = 0xfffe, flags = kAck;
  unsigned sequence = 0xffff'ff00;
  Frame extension = {};  // of IPv6
  std::size_t payload = 0;

  [[nodiscard]] std::size_t network() const { return 14 + inner_tags.size(); }
  [[nodiscard]] std::size_t transport() const {
    return network() + (ipv6 ? 40 + extension.size() : 20);
  }
  [[nodiscard]] Frame frame() const {
    Frame made = bytes({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2});
    append(made, inner_tags);
    const int next = udp ? 17 : 6;
    if (ipv6) {
      append(made, bytes({0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, extension.empty() ? next : 60, 64}));
      for (int i = 0; i < 32; ++i) made.push_back(static_cast<std::byte>(i * 11));
      append(made, extension);
    } else {
      append(made, bytes({8,  0,  0x45, 2, 0, 0,  id >> 8, id & 255, dont_fragment ? 0x40 : 0,
                          0,  64, next, 0, 0, 10, 9,       0,        1,
                          10, 9,  0,    2}));
    }
    append(made, bytes({0x12, 0x34, 0x56, 0x78}));
    if (udp) {
      append(made, bytes({0, 0, 0xab, 0xcd}));
    } else {
      for (int shift = 24; shift >= 0; shift -= 8)
        made.push_back(static_cast<std::byte>(sequence >> shift));
      // Twelve bytes of options.
      append(made, bytes({1, 2, 3, 4,  0x80, flags, 1, 0, 0, 0, 0, 0,
                          1, 1, 8, 10, 1,    2,     3, 4, 5, 6, 7, 8}));
    }
    append(made, offload_test::payload(payload));
    return made;
  }
  [[nodiscard]] Offload offload(std::uint16_t segment) const {
    return {.checksum_missing = true,
            .checksum_start = static_cast<std::uint16_t>(transport()),
            .checksum_offset = static_cast<std::uint16_t>(udp ? 6 : 16),
            .segments = udp    ? Offload::Segments::udp
                        : ipv6 ? Offload::Segments::tcp_ipv6
                               : Offload::Segments::tcp_ipv4,
            .segment_size = segment,
            .first_segment_has_cwr = false};
  }
};

std::vector<Frame> segments_of(const Packet& packet, const Offload& offload,
                               std::optional<VlanTag> tag = std::nullopt) {
  const Frame frame = packet.frame();
  Segmenter segmenter;
  EXPECT_TRUE(segmenter.done());
  std::vector<Frame> frames;
  if (!segmenter.start(frame, offload, tag)) return frames;
  while (!segmenter.done()) {
    frames.emplace_back(segmenter.next_size());
    segmenter.write(frames.back().data());
  }
  return frames;
}

/// The transport's checksum of a whole frame, with its pseudo header: 0xffff.
unsigned transport_sum(const Packet& packet, const Frame& frame) {
  const std::size_t at = packet.transport(), network = packet.network();
  const unsigned pseudo = packet.ipv6 ? sum_of(frame, network + 8, network + 40)
                                      : sum_of(frame, network + 12, network + 20);
  const auto length = static_cast<unsigned>(frame.size() - at);
  return sum_of(frame, at, frame.size(), pseudo + length + (packet.udp ? 17 : 6));
}

TEST(Segmenter, CutsTcpAsTheKernelWould) {
  const Packet packet{.flags = kAck | kPsh | kFin | kCwr, .payload = 3001};
  auto offload = packet.offload(1000);
  offload.first_segment_has_cwr = true;
  const auto frames = segments_of(packet, offload);
  ASSERT_EQ(frames.size(), 4U);
  const std::size_t tcp = packet.transport(), header = tcp + 32;
  Frame all;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Frame& frame = frames[i];
    EXPECT_EQ(frame.size(), header + (i < 3 ? 1000U : 1U));
    EXPECT_EQ(u16(frame, 16), frame.size() - 14);
    EXPECT_EQ(u16(frame, 18), (0xfffe + i) & 0xffff);
    EXPECT_EQ(sum_of(frame, 14, 34), 0xffffU);
    EXPECT_EQ(u32(frame, tcp + 4), static_cast<unsigned>(0xffff'ff00U + i * 1000));
    const int ends = i == 3 ? kPsh | kFin : 0, begins = i == 0 ? kCwr : 0;
    EXPECT_EQ(std::to_integer<int>(frame[tcp + 13]), kAck | ends | begins);
    EXPECT_EQ(transport_sum(packet, frame), 0xffffU);
    all.insert(all.end(), frame.begin() + static_cast<std::ptrdiff_t>(header), frame.end());
  }
  EXPECT_EQ(all, payload(3001));
}

TEST(Segmenter, KeepsCwrOfAccurateEcnAndTheIdentificationZeroOfDf) {
  for (const int flags : {kAck, kAck | kCwr}) {
    const Packet packet{.id = 0, .flags = flags, .payload = 2000};
    for (const Frame& frame : segments_of(packet, packet.offload(1000))) {
      EXPECT_EQ(u16(frame, 18), 0U);
      EXPECT_EQ(std::to_integer<int>(frame[packet.transport() + 13]), flags);
    }
  }
  const Packet packet{.dont_fragment = false, .id = 0, .payload = 2000};
  EXPECT_EQ(u16(segments_of(packet, packet.offload(1000)).at(1), 18), 1U);
}

TEST(Segmenter, CutsIpv6WithTagsAndAnExtensionHeader) {
  const Packet packet{.ipv6 = true,
                      .inner_tags = bytes({0x81, 0, 0, 5}),
                      .extension = bytes({6, 0, 1, 4, 0, 0, 0, 0}),
                      .payload = 2500};
  const VlanTag outer = {std::byte{0x88}, std::byte{0xa8}, std::byte{0}, std::byte{77}};
  const auto frames = segments_of(packet, packet.offload(1000), outer);
  ASSERT_EQ(frames.size(), 3U);
  for (const Frame& tagged : frames) {
    EXPECT_EQ(u16(tagged, 12), 0x88a8U);
    EXPECT_EQ(u16(tagged, 14), 77U);
    EXPECT_EQ(u16(tagged, 16), 0x8100U);
    Frame frame = tagged;
    frame.erase(frame.begin() + 12, frame.begin() + 16);
    EXPECT_EQ(u16(frame, packet.network() + 4), frame.size() - packet.network() - 40);
    EXPECT_EQ(transport_sum(packet, frame), 0xffffU);
  }
}

TEST(Segmenter, CutsUdp) {
  const Packet packet{.udp = true, .payload = 2100};
  const auto frames = segments_of(packet, packet.offload(1000));
  ASSERT_EQ(frames.size(), 3U);
  for (const Frame& frame : frames) {
    EXPECT_EQ(u16(frame, packet.transport() + 4), frame.size() - packet.transport());
    EXPECT_EQ(transport_sum(packet, frame), 0xffffU);
  }
  EXPECT_EQ(frames.back().size(), packet.transport() + 8 + 100);
}

/// Outer headers: Ethernet and IPv4, then what the tunnel has in front of the inner packet.
struct Tunnel {
  int protocol;
  Frame header;
  bool ethernet;  // the inner packet has its Ethernet header
};

const Frame kVxlan = bytes({0x30, 0x39, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 7, 0});
const Frame kVxlanWithChecksum =
    bytes({0x30, 0x39, 0x12, 0xb5, 0, 0, 0xab, 0xcd, 8, 0, 0, 0, 0, 0, 7, 0});
const Frame kVxlanElsewhere = bytes({0x30, 0x39, 0x30, 0x3a, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 7, 0});
const Frame kGeneve =
    bytes({0x30, 0x39, 0x17, 0xc1, 0, 0, 0, 0, 1, 0, 0x65, 0x58, 0, 0, 7, 0, 9, 9, 9, 9});
const Frame kGre = bytes({0, 0, 8, 0});
const Frame kGreTapWithKey = bytes({0x20, 0, 0x65, 0x58, 0, 0, 0, 7});

Frame through(const Tunnel& tunnel, const Packet& packet) {
  Frame made = bytes({4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 2});
  append(made, bytes({8, 0, 0x45, 0,  0, 0, 0,   9,  0, 0, 64, tunnel.protocol,
                      0, 0, 172,  16, 0, 1, 172, 16, 0, 2}));
  append(made, tunnel.header);
  const Frame inner = packet.frame();
  made.insert(made.end(), inner.begin() + (tunnel.ethernet ? 0 : 14), inner.end());
  return made;
}

/// The outer headers of the `i`-th frame.
void check_outer(const Tunnel& tunnel, const Frame& frame, std::size_t i) {
  EXPECT_EQ(u16(frame, 16), frame.size() - 14);
  EXPECT_EQ(u16(frame, 18), 9 + i);
  EXPECT_EQ(sum_of(frame, 14, 34), 0xffffU);
  if (tunnel.protocol != 17) return;
  const auto length = static_cast<unsigned>(frame.size() - 34);
  EXPECT_EQ(u16(frame, 38), length);
  if (tunnel.header[6] == std::byte{0}) {
    EXPECT_EQ(u16(frame, 40), 0U);
  } else {
    EXPECT_EQ(sum_of(frame, 34, frame.size(), sum_of(frame, 26, 34) + length + 17), 0xffffU);
  }
}

TEST(Segmenter, CutsPacketsInTunnels) {
  const Tunnel tunnels[] = {{17, kVxlan, true},
                            {17, kVxlanWithChecksum, true},
                            {17, kVxlanElsewhere, true},
                            {17, kGeneve, true},
                            {47, kGre, false},
                            {47, kGreTapWithKey, true},
                            {4, {}, false}};
  const Packet packet{.payload = 2500};
  for (const Tunnel& tunnel : tunnels) {
    const Frame whole = through(tunnel, packet);
    const std::size_t before = 34 + tunnel.header.size();
    auto offload = packet.offload(1000);
    offload.checksum_start =
        static_cast<std::uint16_t>(before + packet.transport() - (tunnel.ethernet ? 0 : 14));
    Segmenter segmenter;
    ASSERT_TRUE(segmenter.start(whole, offload, std::nullopt)) << tunnel.protocol;
    std::size_t count = 0;
    for (; !segmenter.done(); ++count) {
      Frame frame(segmenter.next_size());
      segmenter.write(frame.data());
      check_outer(tunnel, frame, count);
      // The inner packet with an Ethernet header, as without a tunnel.
      Frame inner = tunnel.ethernet ? Frame() : packet.frame();
      inner.resize(tunnel.ethernet ? 0 : 14);
      inner.insert(inner.end(), frame.begin() + static_cast<std::ptrdiff_t>(before), frame.end());
      EXPECT_EQ(inner, segments_of(packet, packet.offload(1000))[count]);
    }
    EXPECT_EQ(count, 3U);
    for (std::size_t size = 0; size <= before + packet.transport(); ++size)
      EXPECT_FALSE(segmenter.start(std::span(whole).first(std::min(size, whole.size())), offload,
                                   std::nullopt));
  }
}

/// GRE with a sequence number: the segments would need numbers of their own.
TEST(Segmenter, RefusesOtherTunnels) {
  const Packet packet{.payload = 2500};
  for (const Tunnel& tunnel :
       {Tunnel{47, bytes({0x10, 0, 8, 0, 0, 0, 0, 1}), false},
        Tunnel{17, bytes({0x30, 0x39, 0x12, 0xb6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0}), true}}) {
    auto offload = packet.offload(1000);
    offload.checksum_start = static_cast<std::uint16_t>(
        34 + tunnel.header.size() + packet.transport() - (tunnel.ethernet ? 0 : 14));
    const Frame whole = through(tunnel, packet);
    Segmenter segmenter;
    EXPECT_FALSE(segmenter.start(whole, offload, std::nullopt));
  }
}

TEST(Segmenter, RefusesWhatItCannotCut) {
  const Packet packet{.payload = 2000};
  auto inner = packet.offload(1000);
  inner.checksum_start = static_cast<std::uint16_t>(inner.checksum_start + 50);
  EXPECT_TRUE(segments_of(packet, inner).empty());  // another header's checksum
  auto unknown = packet.offload(1000);
  unknown.segments = Offload::Segments::udp;
  EXPECT_TRUE(segments_of(packet, unknown).empty());
  EXPECT_TRUE(segments_of(packet, packet.offload(0)).empty());
  // Every cut of the headers is refused, and read no further.
  const Frame whole = packet.frame();
  for (std::size_t size = 0; size <= packet.transport() + 32; ++size) {
    const Frame cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    Segmenter segmenter;
    EXPECT_FALSE(segmenter.start(cut, packet.offload(1000), std::nullopt)) << size;
  }
}

TEST(Offload, ReadsTheKernelsHeader) {
  const Frame header = bytes({1, 0x81, 66, 0, 0xe8, 3, 34, 0, 16, 0});
  const Offload offload = read_offload(header.data());
  EXPECT_TRUE(offload.checksum_missing);
  EXPECT_EQ(offload.segments, Offload::Segments::tcp_ipv4);
  EXPECT_TRUE(offload.first_segment_has_cwr);
  EXPECT_EQ(offload.segment_size, 1000);
  EXPECT_EQ(offload.checksum_start, 34);
  EXPECT_EQ(offload.checksum_offset, 16);
}

TEST(Offload, CompletesAChecksumThatHoldsThePseudoHeadersSum) {
  const Packet packet{.udp = true, .payload = 101};
  Frame frame = packet.frame();
  const std::size_t udp = packet.transport();
  const auto length = static_cast<unsigned>(frame.size() - udp);
  frame[udp + 4] = static_cast<std::byte>(length >> 8);
  frame[udp + 5] = static_cast<std::byte>(length);
  const unsigned pseudo = sum_of(frame, 26, 34, length + 17);
  frame[udp + 6] = static_cast<std::byte>(pseudo >> 8);
  frame[udp + 7] = static_cast<std::byte>(pseudo);
  EXPECT_TRUE(complete_checksum(std::span(frame).subspan(udp), 6));
  EXPECT_EQ(transport_sum(packet, frame), 0xffffU);
  EXPECT_FALSE(
      complete_checksum(std::span(frame).subspan(udp), static_cast<std::uint16_t>(length - 1)));
}

TEST(Offload, CompletesTheCrcOfSctp) {
  // The check value of CRC-32C is that of "123456789"; here a packet of which the CRC field is 0.
  Frame packet = bytes({0x13, 0x88, 0x13, 0x89, 1, 2, 3, 4, 9, 9, 9, 9, 3, 0, 0, 4});
  EXPECT_TRUE(complete_checksum(packet, 8));
  const Frame zeroed = bytes({0x13, 0x88, 0x13, 0x89, 1, 2, 3, 4, 0, 0, 0, 0, 3, 0, 0, 4});
  std::uint32_t crc = 0xffff'ffff;
  for (const std::byte value : zeroed) {
    crc ^= std::to_integer<std::uint32_t>(value);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f6'3b78 : 0);
  }
  crc = ~crc;
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(std::to_integer<std::uint32_t>(packet[8 + i]), crc >> (8 * i) & 0xff);
}

TEST(Backlog, DropsOfAllCpusAreAdded) {
  std::istringstream text(
      "0000272d 00000003 00000000 00000000 00000000\n"
      "000011e8 0000001f 00000001 00000000 00000000\n");
  EXPECT_EQ(backlog_drops_of(text), 3U + 31U);
  std::istringstream nothing("");
  EXPECT_EQ(backlog_drops_of(nothing), 0U);
}

/// Neither another interface's losses nor tagged frames that came in are this one's losses.
TEST(Backlog, OnlyWhatBothCountersSawIsLost) {
  EXPECT_EQ(backlog_losses(100, 70, 0), 70U);
  EXPECT_EQ(backlog_losses(50, 70, 0), 50U);
  EXPECT_EQ(backlog_losses(0, 70, 0), 0U);
  EXPECT_EQ(backlog_losses(100, 70, 60), 10U);
  EXPECT_EQ(backlog_losses(100, 70, 80), 0U);
}

}  // namespace offload_test
}  // namespace lw::nic
