// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include <gtest/gtest.h>

#include "gen/replay/replay_source.h"

namespace lw::gen {
namespace {

TEST(ReplayOptions, SpeedIsAMultipleOrMax) {
  EXPECT_EQ(parse_speed("2x")->factor, 2);
  EXPECT_EQ(parse_speed("0.5x")->factor, 0.5);
  EXPECT_EQ(parse_speed("3")->factor, 3);
  EXPECT_TRUE(std::isinf(parse_speed("max")->factor));
  for (const char* wrong : {"", "x", "0", "0x", "-1x", "2y", "inf", "nan", "2xx"}) {
    EXPECT_FALSE(parse_speed(wrong).has_value()) << wrong;
  }
}

TEST(ReplayOptions, MappingsAreTwoNumbersWithinTheField) {
  const auto mapping = parse_mapping("0x11=34", 0xffffff);
  ASSERT_TRUE(mapping.has_value());
  EXPECT_EQ(mapping->from, 0x11u);
  EXPECT_EQ(mapping->to, 34u);
  EXPECT_TRUE(parse_mapping("0xffffffff=0", 0xffffffff).has_value());
  for (const char* wrong :
       {"", "1", "=", "1=", "=1", "1=0x1000000", "1=2=3", "0x=1", "a=b", "1=-2"}) {
    EXPECT_FALSE(parse_mapping(wrong, 0xffffff).has_value()) << wrong;
  }
}

TEST(ReplayOptions, AnAddressChangesFromOneOrFromAll) {
  const auto one = parse_address_change("192.0.2.1=203.0.113.1");
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->from, wire::parse_ip("192.0.2.1"));
  EXPECT_EQ(one->to, *wire::parse_ip("203.0.113.1"));
  EXPECT_FALSE(parse_address_change("2001:db8::1")->from.has_value());
  EXPECT_TRUE(parse_address_change("fd00::1=2001:db8::1").has_value());
  for (const char* wrong : {"", "=", "192.0.2.1=", "=192.0.2.1", "192.0.2.1=fd00::1", "a=b",
                            "192.0.2.1=192.0.2.2=192.0.2.3", "192.0.2"}) {
    EXPECT_FALSE(parse_address_change(wrong).has_value()) << wrong;
  }
}

TEST(ReplayOptions, PsnOffsetsAreForAllQpsOrOne) {
  EXPECT_EQ(parse_psn_offset("100")->offset, 100u);
  EXPECT_FALSE(parse_psn_offset("100")->qp.has_value());
  EXPECT_EQ(parse_psn_offset("-1")->offset, 0xffffffu);
  const auto one = parse_psn_offset("0x11=-0x10");
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->qp, 0x11u);
  EXPECT_EQ(one->offset, 0xfffff0u);
  for (const char* wrong : {"", "-", "x", "=1", "1=", "--1", "0x1000000", "0x1000000=1"}) {
    EXPECT_FALSE(parse_psn_offset(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace lw::gen
