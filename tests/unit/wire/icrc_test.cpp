// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.h"

#include <vector>

#include <gtest/gtest.h>

namespace lw::wire {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

// A printed capture of a Mellanox NIC (REFERENCE 1): RoCEv1 WRITE ONLY, "RDMA write operation".
std::vector<std::byte> printed_rocev1_packet() {
  auto packet = bytes_of(
      {0x60, 0,    0,    0,    0,    56,   27,   64,                                      //
       0,    0,    0,    0,    0,    0,    0,    0,    0,    0, 0xff, 0xff, 10, 1, 2, 1,  //
       0,    0,    0,    0,    0,    0,    0,    0,    0,    0, 0xff, 0xff, 10, 1, 2, 2,  //
       0x0a, 0x70, 0xff, 0xff, 0,    0,    0x09, 0x32, 0x80, 0, 0,    1,                  //
       0,    0,    0,    0,    0x01, 0x95, 0xe3, 0xc0, 0,    2, 0xb7, 0x5d, 0,  0, 0, 21});
  for (const char c : std::string_view{"RDMA write operation"}) {
    packet.push_back(static_cast<std::byte>(c));
  }
  packet.resize(packet.size() + 1 + 3);
  return packet;
}

TEST(Icrc, PrintedRoceV1VectorVerifies) {
  const auto packet = printed_rocev1_packet();
  EXPECT_EQ(icrc(Encapsulation::grh, packet, 40), 0x732f49ddu);
}

TEST(Icrc, PatchEqualsWholeForAChangedPsn) {
  auto packet = printed_rocev1_packet();
  const std::uint32_t before = icrc(Encapsulation::grh, packet, 40);
  const IcrcFieldPatch psn(3, packet.size() - 52);
  packet[51] = std::byte{0x77};
  packet[49] = std::byte{0xfe};
  EXPECT_EQ(icrc(Encapsulation::grh, packet, 40), before ^ psn(0xfe0076));
}

}  // namespace
}  // namespace lw::wire
