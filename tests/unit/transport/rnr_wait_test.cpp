// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "transport/queue_pair.h"

namespace lw::transport {
namespace {

constexpr std::uint8_t kAck = 0x11;
constexpr std::uint8_t kRnrNak = 0b001'01100, kSequenceNak = 0b011'00000;  // RNR timer 12: 640 us

Packet nak(std::uint8_t syndrome, wire::Psn psn) {
  Packet packet;
  packet.opcode = kAck;
  packet.syndrome = syndrome;
  packet.psn = psn;
  return packet;
}

/// Sends all that may go now; returns how many packets.
int send_all(QueuePair& pair, Instant now) {
  int sent = 0;
  for (Packet packet; pair.next(now, packet); packet = {}) ++sent;
  return sent;
}

// Linux rxe answers the packets behind one that it is not ready for with a sequence NAK, each time.
TEST(RnrWait, sequence_naks_in_it_are_no_retries) {
  Memory memory(Memory::Kind::virtual_only, 0, 1 << 20, 1);
  PayloadStore store;
  QpConfig config;
  config.mtu = 1024;
  QueuePair pair(config, memory, store);
  ASSERT_EQ(config.rnr_retry, 7);  // unlimited
  WorkRequest request;
  request.operation = wire::Operation::send;
  request.length = 3000;
  ASSERT_TRUE(pair.post(request, Instant{}));

  Instant now{};
  for (int i = 0; i < 3 * config.retry_count; ++i) {
    ASSERT_EQ(send_all(pair, now), 3) << i;
    pair.receive(nak(kRnrNak, config.send_psn), now);
    pair.receive(nak(kSequenceNak, config.send_psn), now);
    ASSERT_FALSE(pair.broken()) << i;
    ASSERT_EQ(send_all(pair, now), 0) << i;  // it waits
    now = pair.deadline();
    pair.expire(now);
  }
  EXPECT_EQ(send_all(pair, now), 3);
}

}  // namespace
}  // namespace lw::transport
