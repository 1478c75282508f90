// SPDX-License-Identifier: BSD-3-Clause
// A real frame (pcaps/rxe/atomic.pcap, frame 2) within tunnels; all kinds: e2e/dissect_tunnels.py.
#include "roce/tunnel.h"

#include <gtest/gtest.h>

#include "roce/frame.h"
#include "support/hex.h"

namespace lw::roce {
namespace {

using test::from_hex;

constexpr const char* kInner =
    "52 54 00 77 00 02 52 54 00 77 00 01 08 00"
    "45 00 00 38 36 df 40 00 40 11 e8 81 c0 a8 4d 01 c0 a8 4d 02"
    "c4 00 12 b7 00 24 00 00 12 00 ff ff 00 00 00 20 00 c4 e4 e1 1f 00 00 01"
    "ef a7 7e c5 df 15 0d 79 48 4f 03 d6";
constexpr std::size_t kInnerSize = 70;

/// The first `size` bytes of the inner frame behind Ethernet, IPv4 10.0.0.1 > 10.0.0.2, UDP and
/// VXLAN 5001, with lengths that say so.
std::vector<std::byte> in_vxlan(std::size_t size = kInnerSize) {
  auto frame = from_hex(
      "02 00 00 00 00 01 02 00 00 00 00 02 08 00"
      "45 00 00 00 00 00 00 00 40 11 00 00 0a 00 00 01 0a 00 00 02"
      "c3 50 12 b5 00 00 00 00 08 00 00 00 00 13 89 00");
  const auto inner = from_hex(kInner);
  frame.insert(frame.end(), inner.begin(), inner.begin() + static_cast<std::ptrdiff_t>(size));
  frame[17] = static_cast<std::byte>(36 + size);
  frame[39] = static_cast<std::byte>(16 + size);
  return frame;
}

struct Opened {
  Envelope envelope;
  TunnelStack stack;
};

Opened opened(const std::vector<std::byte>& frame, std::size_t wire_length = 0) {
  Opened all{open_envelope(frame, wire_length), {}};
  open_tunnels(all.envelope, all.stack);
  return all;
}

TEST(Tunnel, TheEnvelopeIsThatOfTheInnerFrame) {
  const auto frame = in_vxlan();
  const auto [envelope, stack] = opened(frame);
  EXPECT_EQ(envelope.bytes.data(), frame.data() + 50);
  EXPECT_EQ(envelope.wire_length, kInnerSize);
  EXPECT_EQ(envelope.source(), "192.168.77.1");
  EXPECT_EQ(check_icrc(envelope), IcrcVerdict::ok);
  EXPECT_EQ(stack.text(), "VXLAN 5001");
  EXPECT_EQ(stack.source(), "10.0.0.1");
  EXPECT_EQ(stack.destination(), "10.0.0.2");
  EXPECT_EQ(stack.unopened(), "");
}

TEST(Tunnel, AFrameWithoutTunnelsStaysAsItIs) {
  const auto frame = from_hex(kInner);
  const auto [envelope, stack] = opened(frame);
  EXPECT_EQ(envelope.bytes.data(), frame.data());
  EXPECT_TRUE(stack.empty());
  EXPECT_EQ(stack.source(), "");
}

TEST(Tunnel, BytesBehindTheTunnelsLengthAreNotTheFrames) {
  auto frame = in_vxlan();
  frame.resize(frame.size() + 4);  // an FCS that the capture kept
  const auto [envelope, stack] = opened(frame);
  EXPECT_EQ(envelope.bytes.size(), kInnerSize);
  EXPECT_EQ(check_icrc(envelope), IcrcVerdict::ok);
}

/// By the tunnel: its lengths are right. By the capture: they are longer than what is there.
TEST(Tunnel, ACutInnerFrameIsUnverifiable) {
  for (std::size_t size = 54; size < kInnerSize; ++size) {
    const auto by_tunnel = in_vxlan(size);
    const auto first = opened(by_tunnel);
    EXPECT_EQ(check_icrc(first.envelope), IcrcVerdict::unverifiable) << size;
    EXPECT_EQ(first.envelope.wire_length, size);
    auto by_capture = in_vxlan();
    const std::size_t whole = by_capture.size();
    by_capture.resize(whole - (kInnerSize - size));
    const auto second = opened(by_capture, whole);
    EXPECT_EQ(check_icrc(second.envelope), IcrcVerdict::unverifiable) << size;
    EXPECT_EQ(second.envelope.wire_length, kInnerSize);
    const auto parsed = parse(second.envelope);
    ASSERT_TRUE(parsed && parsed->defect) << size;
    EXPECT_EQ(parsed->defect->problem, Problem::cut);
  }
}

TEST(Tunnel, ACutHeaderIsNamed) {
  for (std::size_t size = 42; size < 50; ++size) {
    auto frame = in_vxlan();
    frame.resize(size);
    const auto [envelope, stack] = opened(frame, 120);
    EXPECT_EQ(stack.unopened(), "VXLAN, cut") << size;
    EXPECT_TRUE(stack.empty());
    EXPECT_EQ(envelope.source(), "10.0.0.1");
  }
  auto frame = in_vxlan();
  frame.resize(50);
  EXPECT_EQ(opened(frame, 120).stack.unopened(), "tunnel, cut before what it carries");
}

}  // namespace
}  // namespace lw::roce
