// SPDX-License-Identifier: BSD-3-Clause
#include "wire/opcode.h"

#include <set>

#include <gtest/gtest.h>

namespace lw::wire {
namespace {

using enum Extension;

struct Row {
  std::uint8_t opcode;
  const char* name;
  ExtensionSet extensions;
  Role role;
};

// IBTA vol. 1, table 38 with annexes A14 (XRC), A17 (CNP) and A19 (FLUSH, ATOMIC WRITE), by hand.
const Row kSamples[] = {
    {0x00, "RC SEND FIRST", {}, Role::request},
    {0x03, "RC SEND LAST IMM", {immdt}, Role::request},
    {0x06, "RC WRITE FIRST", {reth}, Role::request},
    {0x0b, "RC WRITE ONLY IMM", {reth, immdt}, Role::request},
    {0x0c, "RC READ REQUEST", {reth}, Role::request},
    {0x0d, "RC READ RESPONSE FIRST", {aeth}, Role::response},
    {0x0e, "RC READ RESPONSE MIDDLE", {}, Role::response},
    {0x11, "RC ACK", {aeth}, Role::response},
    {0x12, "RC ATOMIC ACK", {aeth, atomicacketh}, Role::response},
    {0x13, "RC CMP SWAP", {atomiceth}, Role::request},
    {0x16, "RC SEND LAST INV", {ieth}, Role::request},
    {0x1c, "RC FLUSH", {feth, reth}, Role::request},
    {0x1d, "RC ATOMIC WRITE", {reth}, Role::request},
    {0x27, "UC WRITE MIDDLE", {}, Role::request},
    {0x44, "RD SEND ONLY", {rdeth, deth}, Role::request},
    {0x4c, "RD READ REQUEST", {rdeth, deth, reth}, Role::request},
    {0x4e, "RD READ RESPONSE MIDDLE", {rdeth}, Role::response},
    {0x51, "RD ACK", {rdeth, aeth}, Role::response},
    {0x55, "RD RESYNC", {rdeth, deth}, Role::request},
    {0x64, "UD SEND ONLY", {deth}, Role::request},
    {0x65, "UD SEND ONLY IMM", {deth, immdt}, Role::request},
    {0x81, "CNP", {}, Role::notification},
    {0xa0, "XRC SEND FIRST", {xrceth}, Role::request},
    {0xab, "XRC WRITE ONLY IMM", {xrceth, reth, immdt}, Role::request},
    {0xb1, "XRC ACK", {aeth}, Role::response},
    {0xb7, "XRC SEND ONLY INV", {xrceth, ieth}, Role::request},
};

TEST(OpcodeTable, SaysWhatTheSpecificationSays) {
  for (const Row& row : kSamples) {
    const OpcodeInfo* info = find_opcode(row.opcode);
    ASSERT_NE(info, nullptr) << row.name;
    EXPECT_EQ(info->name, row.name);
    EXPECT_EQ(info->extensions, row.extensions) << row.name;
    EXPECT_EQ(info->role, row.role) << row.name;
    EXPECT_EQ(static_cast<unsigned>(info->transport), row.opcode >> 5u) << row.name;
  }
}

TEST(OpcodeTable, HasEachOpcodeOnceAndFindsItByWhatItIs) {
  std::set<std::uint8_t> seen;
  for (const OpcodeInfo& info : all_opcodes()) {
    EXPECT_TRUE(seen.insert(info.opcode).second) << info.name;
    EXPECT_EQ(find_opcode(info.opcode), &info);
    EXPECT_EQ(opcode_of(info.transport, info.operation, info.position, info.extensions.has(immdt),
                        info.extensions.has(ieth)),
              info.opcode);
  }
  // 25 of RC and of XRC, 12 of UC, 24 of RD, 2 of UD, the CNP.
  EXPECT_EQ(seen.size(), 25u + 25 + 12 + 24 + 2 + 1);
}

TEST(OpcodeTable, ReservedOnesAreNull) {
  for (const int opcode :
       {0x15, 0x18, 0x1f, 0x2c, 0x56, 0x57, 0x60, 0x63, 0x66, 0x80, 0x82, 0xb5, 0xc0, 0xff}) {
    EXPECT_EQ(find_opcode(static_cast<std::uint8_t>(opcode)), nullptr) << opcode;
  }
}

TEST(OpcodeTable, TransportsLackWhatTheyLack) {
  EXPECT_FALSE(opcode_of(Transport::ud, Operation::write, Position::only));
  EXPECT_FALSE(opcode_of(Transport::uc, Operation::read_request, Position::only));
  EXPECT_FALSE(opcode_of(Transport::rd, Operation::send, Position::only, false, true));
  EXPECT_FALSE(opcode_of(Transport::rc, Operation::resync, Position::only));
}

}  // namespace
}  // namespace lw::wire
