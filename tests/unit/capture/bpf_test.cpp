// SPDX-License-Identifier: BSD-3-Clause
#include "core/bpf.h"

#include <gtest/gtest.h>

#include "capture/filter.h"
#include "support/captures.h"

namespace lw::capture::test {
namespace {

/// Between them they use every kind of instruction that libpcap's compiler makes of such filters.
constexpr const char* kExpressions[] = {
    "udp port 4791",
    "vlan and udp port 4791",
    "vlan 100 and udp port 4791",
    "arp or tcp",
    "host 192.168.77.1 and not arp",
    "src net 192.168.77.0/24 and udp dst portrange 4000-5000",
    "ip6 and udp",
    "udp[8] = 17",
    "udp[8] & 0x1f >= 13 and udp[8] % 3 != 1",
    "udp[12:4] & 0xffffff = 0x1a",
    "udp[16:4] & 0xffffff > 0x800000",
    "(udp[8] << 2) + udp[17] * 3 - udp[18] / 2 > 64",
    "udp[udp[8]] = 1",
    "(ip[8] | 3) ^ 5 = 66",
    "-ip[8] < 0 and len > 200",
    "greater 1000",
    "less 100",
    "ip[1] & 3 = 3",
    "ether[12:2] = 0x0800",
};

/// libpcap's own machine is the judge, frame by frame and cut anywhere in the headers.
TEST(Bpf, AgreesWithLibpcapOverRealFramesCutAnywhere) {
  std::size_t accepted = 0, refused = 0;
  for (const char* expression : kExpressions) {
    const auto filter = Filter::compile(expression, kLinkTypeEthernet);
    ASSERT_TRUE(filter) << filter.error().message;
    const auto program = BpfProgram::create(filter->instructions());
    ASSERT_TRUE(program) << expression;
    for (const char* name : {"cm_rping", "ipv6_rc", "vlan100", "tos_dscp", "atomic"}) {
      for (const auto& frame : lw::test::frames_of(lw::test::source_root() / "pcaps/rxe" /
                                                   (std::string(name) + ".pcap"))) {
        const auto length = static_cast<std::uint32_t>(frame.wire_length);
        const std::span<const std::byte> all(frame.bytes);
        for (std::size_t size = 0; size <= std::min<std::size_t>(all.size(), 80); size += 5) {
          ASSERT_EQ(program->matches(all.first(size), length),
                    filter->matches(all.first(size), length))
              << expression << ", " << frame.file << " frame " << frame.number << " of " << size;
        }
        const bool whole = program->matches(all, length);
        ASSERT_EQ(whole, filter->matches(all, length)) << expression;
        ++(whole ? accepted : refused);
      }
    }
  }
  EXPECT_GT(accepted, 500U);
  EXPECT_GT(refused, 500U);
}

constexpr std::uint16_t kReturn = 0x06, kLoadMemory = 0x60, kStore = 0x02, kJump = 0x05,
                        kJumpEqual = 0x15, kDivide = 0x34, kReturnA = 0x16, kLoad = 0x00;

TEST(Bpf, RefusesWhatCouldLeaveTheProgramOrTheMachine) {
  const BpfInstruction ret{kReturn, 0, 0, 1};
  EXPECT_FALSE(BpfProgram::create({}));
  EXPECT_FALSE(BpfProgram::create({{kLoad, 0, 0, 1}}));              // doesn't end
  EXPECT_FALSE(BpfProgram::create({{kJump, 0, 0, 1}, ret}));         // beyond the end
  EXPECT_FALSE(BpfProgram::create({{kJumpEqual, 1, 0, 0}, ret}));    // on one side
  EXPECT_FALSE(BpfProgram::create({{kJumpEqual, 0, 1, 0}, ret}));    // on the other
  EXPECT_FALSE(BpfProgram::create({{kLoadMemory, 0, 0, 16}, ret}));  // 16 words: 0..15
  EXPECT_FALSE(BpfProgram::create({{kStore, 0, 0, 16}, ret}));
  EXPECT_FALSE(BpfProgram::create({{kDivide, 0, 0, 0}, ret}));
  EXPECT_FALSE(BpfProgram::create({{0xb0 | 4, 0, 0, 0}, ret}));  // no such operation
  EXPECT_FALSE(BpfProgram::create({{kJump, 0, 0, 0xffffffff}, ret}));
}

TEST(Bpf, RunsWhatLibpcapsCompilerNeedNotWrite) {
  // M[15] = 7; A = M[15]; A == 7 ? accept A : refuse
  const auto program = BpfProgram::create({{kLoad, 0, 0, 7},
                                           {kStore, 0, 0, 15},
                                           {kLoad, 0, 0, 0},
                                           {kLoadMemory, 0, 0, 15},
                                           {kJumpEqual, 0, 1, 7},
                                           {kReturnA, 0, 0, 0},
                                           {kReturn, 0, 0, 0}});
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->matches({}, 0));
}

}  // namespace
}  // namespace lw::capture::test
