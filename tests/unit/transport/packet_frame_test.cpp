// SPDX-License-Identifier: BSD-3-Clause
// A real frame's headers, read as the engine's packet and written again, are the same bytes.
#include <gtest/gtest.h>

#include "support/captures.h"
#include "transport/packet.h"

namespace lw::test {
namespace {

/// From the BTH to the pad's end.
std::vector<std::byte> transport_bytes(const std::vector<std::byte>& frame, std::size_t bth) {
  return {frame.begin() + static_cast<std::ptrdiff_t>(bth), frame.end() - 4};
}

TEST(PacketFrame, real_frames_come_back) {
  std::size_t frames = 0;
  for (const auto& file : captures_in(source_root() / "pcaps" / "rxe")) {
    for (const CapturedFrame& captured : frames_of(file)) {
      const auto frame = roce::parse(captured.bytes, captured.wire_length);
      if (!frame || frame->defect || frame->info->transport != wire::Transport::rc) continue;
      roce::FrameFields fields;
      transport::put_packet(transport::read_packet(*frame), fields);
      fields.bth.mig_req = false;  // soft-RoCE's; ours is a NIC's
      const auto again = roce::compose(fields, frame->payload);
      const std::size_t bth = roce::layout_of(fields, frame->payload.size()).bth;
      EXPECT_EQ(transport_bytes(again, bth),
                transport_bytes(captured.bytes, frame->envelope.bth_offset()))
          << captured.file << " frame " << captured.number;
      ++frames;
    }
  }
  EXPECT_GT(frames, 500u);
}

TEST(PacketFrame, marks_and_notifications_are_read) {
  transport::Packet marked;
  marked.payload = 8;
  marked.opcode = 4;  // RC SEND ONLY
  marked.congestion_experienced = true;
  const auto bytes = transport::to_frame(marked);
  EXPECT_TRUE(transport::read_packet(*roce::parse(bytes)).congestion_experienced);
  transport::Packet notification;
  notification.payload = 16;
  notification.opcode = transport::kCnpOpcode;
  const auto cnp = transport::to_frame(notification);
  const auto frame = roce::parse(cnp);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->envelope.dscp(), 48);
  EXPECT_TRUE(frame->bth->fields().becn);
  EXPECT_EQ(transport::read_packet(*frame).opcode, transport::kCnpOpcode);
}

}  // namespace
}  // namespace lw::test
