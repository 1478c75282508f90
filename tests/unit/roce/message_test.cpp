// SPDX-License-Identifier: BSD-3-Clause
#include "roce/message.h"

#include <gtest/gtest.h>

namespace lw::roce {
namespace {

using wire::Operation;
using wire::Transport;

// pcaps/rxe/rc_write_send_read.pcap: ib_write_bw of 10,000 bytes at an MTU of 4096 leaves rxe as
// WRITE FIRST, MIDDLE, LAST with 4096, 4096, 1808 bytes, AckReq on the last.
TEST(MessageCut, IsThatOfRxesWrite) {
  const MessageFields m{.operation = Operation::write,
                        .length = 10'000,
                        .mtu = 4096,
                        .first_psn = wire::Psn{6627582}};
  ASSERT_EQ(packet_count(m), 3u);
  const std::uint8_t opcodes[] = {0x06, 0x07, 0x08};
  const std::uint32_t lengths[] = {4096, 4096, 1808};
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto packet = packet_of(m, i);
    EXPECT_EQ(packet.opcode, opcodes[i]);
    EXPECT_EQ(packet.payload, lengths[i]);
    EXPECT_EQ(packet.psn.value(), 6627582 + i);
    EXPECT_EQ(packet.offset, i * 4096u);
    EXPECT_EQ(packet.ack_req, i == 2);
    EXPECT_EQ(packet.pad, 0);
  }
}

TEST(MessageCut, PadsTheLastToFourBytes) {
  const MessageFields m{.length = 1025, .mtu = 1024};
  EXPECT_EQ(packet_of(m, 0).pad, 0);
  EXPECT_EQ(packet_of(m, 1).payload, 1u);
  EXPECT_EQ(packet_of(m, 1).pad, 3);
}

TEST(MessageCut, EmptyMessagesAreOnePacket) {
  const MessageFields m{.length = 0};
  EXPECT_EQ(packet_count(m), 1u);
  EXPECT_EQ(packet_of(m, 0).opcode, 0x04);
  EXPECT_EQ(packet_of(m, 0).payload, 0u);
}

TEST(MessageCut, AReadTakesThePsnsOfItsResponse) {
  MessageFields m{.operation = Operation::read_request, .length = 10'000, .mtu = 1024};
  EXPECT_EQ(packet_count(m), 1u);
  EXPECT_EQ(psn_count(m), 10u);
  EXPECT_EQ(packet_of(m, 0).payload, 0u);
  m.length = 0;
  EXPECT_EQ(psn_count(m), 1u);
}

TEST(MessageCut, ImmediatesAndInvalidatesRideOnTheLastPacket) {
  MessageFields m{.operation = Operation::send, .immediate = true, .length = 3000, .mtu = 1024};
  EXPECT_EQ(packet_of(m, 0).opcode, 0x00);
  EXPECT_EQ(packet_of(m, 2).opcode, 0x03);
  m.immediate = false;
  m.invalidate = true;
  EXPECT_EQ(packet_of(m, 2).opcode, 0x16);
}

TEST(MessageCut, AcksAreAskedForOnTheLastAndEveryFew) {
  const MessageFields m{.length = 10 * 256, .mtu = 256, .ack_every = 4};
  std::string asked;
  for (std::uint32_t i = 0; i < 10; ++i) asked += packet_of(m, i).ack_req ? 'A' : '.';
  EXPECT_EQ(asked, "...A...A.A");
}

TEST(MessageCut, NobodyAcknowledgesUcUdOrResponses) {
  EXPECT_FALSE(packet_of({.transport = Transport::uc}, 0).ack_req);
  EXPECT_FALSE(packet_of({.transport = Transport::ud}, 0).ack_req);
  EXPECT_FALSE(packet_of({.operation = Operation::read_response}, 0).ack_req);
  EXPECT_TRUE(packet_of({.transport = Transport::xrc}, 0).ack_req);
}

TEST(MessageCut, FixedPayloadsStayFixed) {
  EXPECT_EQ(packet_of({.operation = Operation::atomic_write, .length = 99}, 0).payload, 8u);
  EXPECT_EQ(packet_of({.transport = Transport::cnp, .operation = Operation::cnp}, 0).payload, 16u);
  EXPECT_EQ(packet_of({.operation = Operation::ack, .length = 99}, 0).payload, 0u);
}

TEST(MessageCut, RefusesWhatCannotBeSent) {
  EXPECT_EQ(refusal_of({.length = 4096}), "");
  EXPECT_EQ(refusal_of({.mtu = 1500}), "the MTU must be 256, 512, 1024, 2048 or 4096, got 1500");
  EXPECT_EQ(refusal_of({.transport = Transport::ud, .length = 1025}),
            "a UD message must fit the MTU of 1024 bytes, got 1025");
  EXPECT_EQ(refusal_of({.transport = Transport::ud, .operation = Operation::write}),
            "UD has no WRITE");
  EXPECT_EQ(refusal_of({.transport = Transport::rd, .invalidate = true}),
            "RD has no SEND with invalidate");
  EXPECT_NE(refusal_of({.length = (std::uint64_t{1} << 31) + 1}), "");
  EXPECT_EQ(refusal_of({.length = std::uint64_t{1} << 31}), "");
}

}  // namespace
}  // namespace lw::roce
