// SPDX-License-Identifier: BSD-3-Clause
// Bytes are those of real frames: pcaps/rxe (Linux rxe), printed with
//   tshark -r FILE -Y 'frame.number == N' -x -T fields -e infiniband...
// Headers that no capture holds (RDETH, XRCETH, FETH, IETH) follow the specification's diagram;
// tshark reads those as roce-gen writes them in tests/e2e.
#include <gtest/gtest.h>

#include "support/header_laws.h"
#include "wire/aeth.h"
#include "wire/atomicacketh.h"
#include "wire/atomiceth.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/feth.h"
#include "wire/ieth.h"
#include "wire/immdt.h"
#include "wire/rdeth.h"
#include "wire/reth.h"
#include "wire/signature.h"
#include "wire/xrceth.h"

namespace lw::wire {
namespace {

using test::expect_every_bit_is_a_field;
using test::expect_header_laws;

TEST(BthHeader, ReadsAndWritesRxesFetchAdd) {  // atomic.pcap, frame 1
  const char* bytes = "14 00 ff ff 00 00 00 20 80 c4 e4 e1";
  expect_header_laws<Bth>(bytes, BthFields{.opcode = 20,
                                           .mig_req = false,
                                           .p_key = 0xffff,
                                           .dest_qp = 0x20,
                                           .ack_req = true,
                                           .psn = Psn{12903649}});
  expect_every_bit_is_a_field<Bth>(bytes, "00 00 00 00 00 00 00 00 00 00 00 00");
}

TEST(BthHeader, ReadsTheConnectX4sCnp) {  // the frame that scapy's RoCE tests carry
  expect_header_laws<Bth>(
      "81 00 ff ff 40 00 01 18 00 00 00 00",
      BthFields{.opcode = 0x81, .mig_req = false, .becn = true, .dest_qp = 0x118});
}

TEST(RethHeader, ReadsAndWritesRxesWriteFirst) {  // rc_write_send_read.pcap, frame 24
  const char* bytes = "00 00 55 88 94 81 f7 10 00 00 02 69 00 00 27 10";
  expect_header_laws<Reth>(bytes, RethFields{0x55889481f710, 0x269, 10000});
  expect_every_bit_is_a_field<Reth>(bytes, "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
}

TEST(DethHeader, ReadsAndWritesRxesUdSend) {  // ud_send.pcap, frame 1
  const char* bytes = "11 11 11 11 00 00 00 1d";
  expect_header_laws<Deth>(bytes, DethFields{0x11111111, 0x1d});
  expect_every_bit_is_a_field<Deth>(bytes, "00 00 00 00 ff 00 00 00");
}

TEST(AtomicEthHeader, ReadsAndWritesRxesFetchAdd) {  // atomic.pcap, frame 1
  expect_header_laws<AtomicEth>(
      "00 00 55 5c a7 65 90 00 00 00 13 ba 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 00",
      AtomicEthFields{0x555ca7659000, 0x13ba, 1, 0});
}

TEST(AethHeader, ReadsAndWritesRxesAtomicAck) {  // atomic.pcap, frame 2
  const char* bytes = "1f 00 00 01";
  expect_header_laws<Aeth>(bytes, AethFields{0x1f, 1});
  expect_every_bit_is_a_field<Aeth>(bytes, "00 00 00 00");
}

TEST(AtomicAckEthHeader, ReadsAndWritesRxesAtomicAck) {  // atomic.pcap, frame 2
  expect_header_laws<AtomicAckEth>("ef a7 7e c5 df 15 0d 79",
                                   AtomicAckEthFields{17268910684491812217u});
}

TEST(AethHeader, ReadsRxesRnrNak) {  // rnr_nak.pcap, frame 23
  const auto bytes = test::from_hex("2c 00 00 08");
  const auto* aeth = view<Aeth>(Bytes{bytes});
  EXPECT_EQ(aeth->kind(), AethKind::rnr_nak);
  EXPECT_EQ(aeth->value(), 12);
  EXPECT_EQ(rnr_timer(aeth->value()), std::chrono::microseconds{640});
}

TEST(AethHeader, RnrTimersAreTheSpecificationsTable) {
  using std::chrono::microseconds;
  EXPECT_EQ(rnr_timer(0), microseconds{655360});
  EXPECT_EQ(rnr_timer(1), microseconds{10});
  EXPECT_EQ(rnr_timer(2), microseconds{20});
  EXPECT_EQ(rnr_timer(16), microseconds{2560});
  EXPECT_EQ(rnr_timer(31), microseconds{491520});
}

TEST(AethHeader, TellsNakCodesApart) {
  for (const int code : {0, 1, 2, 3, 4}) {
    Aeth aeth{};
    aeth.set({static_cast<std::uint8_t>(0x60 + code), 0});
    EXPECT_EQ(aeth.kind(), AethKind::nak);
    EXPECT_EQ(static_cast<NakCode>(aeth.value()), static_cast<NakCode>(code));
  }
}

TEST(ImmDtHeader, FollowsTheDiagram) {
  expect_header_laws<ImmDt>("de ad be ef", ImmDtFields{0xdeadbeef});
}

TEST(IethHeader, FollowsTheDiagram) { expect_header_laws<Ieth>("00 00 02 69", IethFields{0x269}); }

TEST(RdethHeader, FollowsTheDiagram) {
  const char* bytes = "00 12 34 56";
  expect_header_laws<Rdeth>(bytes, RdethFields{0x123456});
  expect_every_bit_is_a_field<Rdeth>(bytes, "ff 00 00 00");
}

TEST(XrcethHeader, FollowsTheDiagram) {
  const char* bytes = "00 ab cd ef";
  expect_header_laws<Xrceth>(bytes, XrcethFields{0xabcdef});
  expect_every_bit_is_a_field<Xrceth>(bytes, "ff 00 00 00");
}

TEST(FethHeader, FollowsTheDiagram) {
  const char* bytes = "00 00 00 12";
  expect_header_laws<Feth>(bytes, FethFields{2, 1});
  expect_every_bit_is_a_field<Feth>(bytes, "ff ff ff c0");
}

TEST(SignatureHeader, FollowsTheDiagram) {
  expect_header_laws<Signature>(
      "4c 57 53 32 02 00 00 07 be ef 00 00 00 00 01 02 00 00 00 00 3b 9a ca 00",
      SignatureFields{7, 0x102, 1'000'000'000, 0xbeef, ClockId::kTai, 2});
}

TEST(SignatureHeader, OfVersion1HasNoRunAndNoClock) {
  expect_header_laws<Signature>(
      "4c 57 53 47 12 00 00 07 12 00 00 00 00 00 01 02 00 00 00 00 3b 9a ca 00",
      SignatureFields{0x12000007, 0x1200000000000102, 1'000'000'000, 0, ClockId::kUnknown, 1});
}

TEST(CnpReservedBytes, AreZeroOrNot) {
  CnpReserved reserved;
  EXPECT_TRUE(reserved.all_zero());
  reserved.zeros[15] = std::byte{1};
  EXPECT_FALSE(reserved.all_zero());
}

}  // namespace
}  // namespace lw::wire
