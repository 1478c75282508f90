// SPDX-License-Identifier: BSD-3-Clause
#include "capture/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/capture/file_builder.h"

namespace lw::capture::test {
namespace {

/// IPv4 10.0.0.1 -> 10.0.0.2, UDP 50000 -> 4791, no payload; 28 bytes.
FileBuilder udp_packet() {
  FileBuilder packet(true);
  packet.u16(0x4500).u16(28).u32(0x4000).u16(0x4011).u16(0).u32(0x0a000001).u32(0x0a000002);
  return packet.u16(50000).u16(4791).u16(8).u16(0);
}

FileBuilder ethernet_frame() {
  return FileBuilder(true).raw("\x02____1\x02____2").u16(0x0800).raw(udp_packet().text());
}

bool matches(const std::string& expression, int link_type, const FileBuilder& frame) {
  const auto filter = Filter::compile(expression, link_type);
  EXPECT_TRUE(filter) << filter.error().message;
  return filter && filter->matches(frame.bytes(), static_cast<std::uint32_t>(frame.bytes().size()));
}

TEST(Filter, SelectsFramesOfEveryLinkType) {
  EXPECT_TRUE(matches("udp dst port 4791", kLinkTypeEthernet, ethernet_frame()));
  EXPECT_FALSE(matches("udp dst port 4792", kLinkTypeEthernet, ethernet_frame()));
  EXPECT_TRUE(matches("host 10.0.0.1 and udp port 4791", kLinkTypeRaw, udp_packet()));
  EXPECT_TRUE(matches("udp", kLinkTypeIpv4, udp_packet()));
  EXPECT_FALSE(matches("tcp", kLinkTypeRaw, udp_packet()));
}

TEST(Filter, ABadExpressionIsAUsageErrorInLibpcapsWords) {
  const auto filter = Filter::compile("udp prot 4791", kLinkTypeEthernet);
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().exit, ExitCode::usage);
  EXPECT_THAT(filter.error().message, testing::HasSubstr("udp prot 4791"));
}

}  // namespace
}  // namespace lw::capture::test
