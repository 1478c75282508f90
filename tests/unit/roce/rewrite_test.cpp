// SPDX-License-Identifier: BSD-3-Clause
// Frames that Linux rxe and real NICs wrote, rewritten: what comes out is the frame that composing
// the changed fields whole gives, and its checks hold.
#include <gtest/gtest.h>

#include "roce/compose.h"
#include "roce/envelope.h"
#include "support/captures.h"
#include "support/fields_of.h"
#include "support/hex.h"
#include "support/rewritten_fields.h"

namespace lw::roce {
namespace {

FrameChanges everything_of(const FrameFields& f) {
  FrameChanges what;
  what.source_mac = wire::parse_mac("02:00:00:00:aa:01");
  what.destination_mac = wire::parse_mac("02:00:00:00:aa:02");
  const bool v6 = f.encapsulation == wire::Encapsulation::ipv6;
  what.sources = {{std::nullopt, *wire::parse_ip(v6 ? "2001:db8:7::1" : "203.0.113.1")}};
  what.destinations = {{std::nullopt, *wire::parse_ip(v6 ? "2001:db8:7::2" : "203.0.113.2")}};
  what.qps = {{f.bth.dest_qp, 0xabcdef}, {f.deth.src_qp, 0x13}};
  what.psn_offset = 0xfffff0;
  what.r_keys = {{f.reth.r_key, 0xdeadbeef}, {f.atomiceth.r_key, 0xdeadbeef}};
  return what;
}

bool rewrites(const test::CapturedFrame& captured, const Frame& frame) {
  const FrameFields fields = test::fields_of(frame);
  const FrameChanges what = everything_of(fields);
  const auto wrote_udp_checksum = frame.envelope.udp && frame.envelope.udp->checksum.get() != 0;
  auto expected = compose(test::rewritten(what, fields), frame.payload);
  if (wrote_udp_checksum) test::fill_udp_checksum(expected);
  auto bytes = captured.bytes;
  const bool done = rewrite(what, bytes) == Rewritten::yes;
  EXPECT_EQ(check_icrc(open_envelope(bytes)), IcrcVerdict::ok);
  bytes.resize(expected.size());  // padding to Ethernet's minimum stands behind the packet
  return done && bytes == expected;
}

int rewrite_all(const std::vector<std::filesystem::path>& files) {
  int count = 0;
  for (const auto& file : files) {
    for (const auto& captured : test::frames_of(file)) {
      const auto frame = parse(captured.bytes, captured.wire_length);
      if (!frame) continue;
      EXPECT_TRUE(rewrites(captured, *frame)) << captured.file << " frame " << captured.number;
      ++count;
    }
  }
  return count;
}

TEST(FrameChanges, HoldsForEveryFrame) {
  EXPECT_EQ(rewrite_all(test::own_captures()), 3681);
  rewrite_all(test::further_captures());
}

TEST(FrameChanges, OfNothingChangesNothing) {
  for (const auto& captured : test::frames_of(test::source_root() / "pcaps/rxe/vlan100.pcap")) {
    auto bytes = captured.bytes;
    rewrite(FrameChanges{}, bytes);
    EXPECT_EQ(bytes, captured.bytes);
  }
}

TEST(FrameChanges, LeavesAFragmentAlone) {
  const auto frames = test::frames_of(test::source_root() / "pcaps/rxe/ud_send.pcap");
  const auto roce = std::ranges::find_if(
      frames, [](const auto& frame) { return open_envelope(frame.bytes).is_roce(); });
  ASSERT_NE(roce, frames.end());
  auto bytes = roce->bytes;
  bytes[20] = std::byte{0x20};  // more fragments
  const auto before = bytes;
  EXPECT_EQ(rewrite(everything_of({}), bytes), Rewritten::no_icrc);
  EXPECT_EQ(bytes, before);
}

TEST(FrameChanges, LeavesWhatIsNoRoceAlone) {
  auto arp = test::from_hex("ff ff ff ff ff ff 02 00 00 00 00 01 08 06 00 01 08 00 06 04 00 01");
  const auto before = arp;
  EXPECT_EQ(rewrite(everything_of({}), arp), Rewritten::not_roce);
  EXPECT_EQ(arp, before);
}

}  // namespace
}  // namespace lw::roce
