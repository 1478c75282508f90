// SPDX-License-Identifier: BSD-3-Clause
// The path MTU that packets and READs show.
#include "analysis/mtu_evidence.h"

#include <gtest/gtest.h>

namespace lw::analysis {
namespace {

TEST(MtuEvidence, OneLossBehindAReadDecidesNothing) {
  MtuEvidence evidence;
  evidence.add_distance(4096, 8);  // a packet behind the READ is missing
  EXPECT_EQ(evidence.mtu(nullptr), 512U);
  evidence.add_distance(4096, 4);
  EXPECT_EQ(evidence.mtu(nullptr), 1024U);
}

TEST(MtuEvidence, TheRestOfAReadDecidesNothing) {
  MtuEvidence evidence;
  for (int read = 0; read < 5; ++read) evidence.add_distance(2048, 8);
  evidence.add_distance(2048, 2);  // the READ of the rest of its response
  EXPECT_EQ(evidence.mtu(nullptr), 256U);
}

TEST(MtuEvidence, NoPacketIsLongerThanTheMtu) {
  MtuEvidence evidence;
  CapturedPacket packet;
  packet.info = wire::find_opcode(0x0A);  // WRITE ONLY
  packet.payload = 1000;
  evidence.add(packet);
  evidence.add_distance(2048, 8);
  EXPECT_EQ(evidence.mtu(nullptr), std::nullopt);
  evidence.add_distance(2048, 2);
  EXPECT_EQ(evidence.mtu(nullptr), 1024U);
}

}  // namespace
}  // namespace lw::analysis
