// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/events/qp_table.h"

#include <gtest/gtest.h>

#include "support/path_frames.h"

namespace lw::emulator {
namespace qp_table_test {

roce::QpKey key_of(std::string_view source, std::string_view destination, std::uint32_t qp) {
  roce::FrameFields fields;
  fields.bth.opcode = 0x04;
  const auto from = *wire::parse_ip(source), to = *wire::parse_ip(destination);
  if (const auto* v6 = std::get_if<wire::Ipv6Address>(&from)) {
    fields.encapsulation = wire::Encapsulation::ipv6;
    fields.ipv6.source = *v6;
    fields.ipv6.destination = std::get<wire::Ipv6Address>(to);
  } else {
    fields.ipv4.source = std::get<wire::Ipv4Address>(from);
    fields.ipv4.destination = std::get<wire::Ipv4Address>(to);
  }
  const auto frame = roce::compose(fields, {});
  return roce::qp_key(roce::open_envelope(frame), qp);
}

TEST(QpKey, TellsDirectionsFamiliesAndQpsApart) {
  const roce::QpKey keys[] = {
      key_of("10.0.0.1", "10.0.0.2", 5), key_of("10.0.0.2", "10.0.0.1", 5),
      key_of("10.0.0.1", "10.0.0.2", 6), key_of("::1", "::2", 5),
      key_of("::2", "::1", 5),           key_of("::1", "::2", 6),
      key_of("a00::", "::", 5),
  };
  for (const auto& a : keys)
    for (const auto& b : keys) EXPECT_EQ(a == b, &a == &b);
}

TEST(QpKey, ReversedIsTheWayBack) {
  EXPECT_EQ(reversed(key_of("10.0.0.1", "10.0.0.2", 5), 9), key_of("10.0.0.2", "10.0.0.1", 9));
  EXPECT_EQ(reversed(key_of("fd00::1", "fd00:2::2", 5), 9), key_of("fd00:2::2", "fd00::1", 9));
}

TEST(QpTable, KeepsEveryQpApartUpToItsCapacity) {
  constexpr std::uint32_t kQps = 5000;
  QpTable table(kQps);
  for (std::uint32_t qp = 0; qp < kQps; ++qp) {
    QpState* state = table.find_or_add(key_of("10.0.0.1", "10.0.0.2", qp));
    ASSERT_NE(state, nullptr);
    ASSERT_EQ(state->number, 0U);
    state->number = qp + 1;
  }
  EXPECT_EQ(table.size(), kQps);
  EXPECT_EQ(table.find_or_add(key_of("10.0.0.1", "10.0.0.2", kQps)), nullptr);
  for (std::uint32_t qp = 0; qp < kQps; ++qp)
    ASSERT_EQ(table.find_or_add(key_of("10.0.0.1", "10.0.0.2", qp))->number, qp + 1);
}

TEST(QpTable, OneIsRoomForOne) {
  QpTable table(1);
  EXPECT_NE(table.find_or_add(key_of("::1", "::2", 1)), nullptr);
  EXPECT_EQ(table.find_or_add(key_of("::1", "::2", 2)), nullptr);
  EXPECT_NE(table.find_or_add(key_of("::1", "::2", 1)), nullptr);
}

}  // namespace qp_table_test
}  // namespace lw::emulator
