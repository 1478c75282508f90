// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/match/packet_kind.h"

#include <map>

#include <gtest/gtest.h>

#include "emulator/match/match.h"
#include "support/captures.h"
#include "support/path_frames.h"

namespace lw::emulator {
namespace packet_kind_test {

std::map<std::string_view, int> kinds_in(const std::string& capture) {
  std::map<std::string_view, int> counts;
  for (const auto& frame : test::frames_of(test::source_root() / "pcaps/rxe" / capture)) {
    const auto envelope = roce::open_envelope(frame.bytes, frame.wire_length);
    if (const auto* bth = bth_of(envelope)) ++counts[name_of(kind_of(envelope, *bth))];
  }
  return counts;
}

using Counts = std::map<std::string_view, int>;

/// As tshark 4.0 has them: -T fields -e infiniband.bth.opcode -e infiniband.aeth.syndrome.opcode
TEST(PacketKind, RealCapturesHoldWhatTsharkCounts) {
  EXPECT_EQ(kinds_in("rnr_nak.pcap"),
            (Counts{{"request", 1675}, {"ack", 200}, {"rnr_nak", 24}, {"nak", 24}}));
  EXPECT_EQ(kinds_in("atomic.pcap"), (Counts{{"request", 10}, {"atomic_ack", 10}}));
  EXPECT_EQ(kinds_in("cm_rping.pcap"),
            (Counts{{"request", 24}, {"ack", 20}, {"read_response", 4}, {"cm", 5}}));
  EXPECT_EQ(kinds_in("loss_read_requester_side.pcap"),
            (Counts{{"request", 25}, {"read_response", 89}}));
}

PacketKind kind_of_frame(const roce::FrameFields& fields, std::size_t cut = 0,
                         std::size_t payload = 0) {
  auto frame = roce::compose(fields, std::vector<std::byte>(payload));
  frame.resize(frame.size() - cut);
  const auto envelope = roce::open_envelope(frame);
  return kind_of(envelope, *bth_of(envelope));
}

TEST(PacketKind, ACnpAndAReservedOpcodeAreTheirOwn) {
  roce::FrameFields fields;
  fields.bth.opcode = 0x81;
  EXPECT_EQ(kind_of_frame(fields, 0, 16), PacketKind::cnp);
  auto frame = test::roce_frame();
  frame[14 + 20 + 8] = std::byte{0x1f};
  const auto envelope = roce::open_envelope(frame);
  EXPECT_EQ(kind_of(envelope, *bth_of(envelope)), PacketKind::reserved);
}

TEST(PacketKind, AnAckCutBeforeItsAethIsNeitherAckNorNak) {
  roce::FrameFields fields;
  fields.bth.opcode = 0x11;
  constexpr std::size_t kIcrc = 4, kAeth = 4;
  EXPECT_EQ(kind_of_frame(fields, kIcrc), PacketKind::ack);
  for (std::size_t missing = 1; missing <= kAeth; ++missing)
    EXPECT_EQ(kind_of_frame(fields, kIcrc + missing), PacketKind::reserved);
}

TEST(PacketKind, TheAethOfReliableDatagramsStandsBehindTheirRdeth) {
  roce::FrameFields fields;
  fields.bth.opcode = 0x40 | 0x11;
  fields.aeth.syndrome = 0x60;
  EXPECT_EQ(kind_of_frame(fields), PacketKind::nak);
  fields.aeth.syndrome = 0x21;
  EXPECT_EQ(kind_of_frame(fields), PacketKind::rnr_nak);
}

TEST(PacketKind, OnlyConnectionManagementOnQpOneIsCm) {
  roce::FrameFields fields;
  fields.bth.opcode = 0x64;
  fields.bth.dest_qp = 1;
  EXPECT_EQ(kind_of_frame(fields, 0, 256), PacketKind::request);  // class 0: no such class
  fields.bth.dest_qp = 2;
  EXPECT_EQ(kind_of_frame(fields, 0, 256), PacketKind::request);
}

}  // namespace packet_kind_test
}  // namespace lw::emulator
