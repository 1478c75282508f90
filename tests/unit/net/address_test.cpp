// SPDX-License-Identifier: BSD-3-Clause
#include "net/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::net {
namespace address_test {

using testing::HasSubstr;

TEST(SplitAddress, TakesEachForm) {
  const auto check = [](const char* text, const char* host, std::optional<std::uint16_t> port) {
    const auto parts = split_address(text);
    ASSERT_TRUE(parts) << text;
    EXPECT_EQ(parts->host, host) << text;
    EXPECT_EQ(parts->port, port) << text;
  };
  check("192.0.2.1", "192.0.2.1", std::nullopt);
  check("192.0.2.1:9092", "192.0.2.1", 9092);
  check("box.example:0", "box.example", 0);
  check(":7000", "", 7000);
  check("", "", std::nullopt);
  check("2001:db8::1", "2001:db8::1", std::nullopt);
  check("::1", "::1", std::nullopt);
  check("[::1]", "::1", std::nullopt);
  check("[::1]:65535", "::1", 65535);
}

TEST(SplitAddress, RefusesOthers) {
  for (const char* wrong : {"host:", "host:x", "host:-1", "host:65536", "host:1 ", "host:0x1",
                            "[::1", "[::1]1", "[::1]:", "[::1]x:1"})
    EXPECT_FALSE(split_address(wrong)) << wrong;
}

TEST(Host, NamesAnAddressOfBothFamilies) {
  EXPECT_EQ(parse_host("192.0.2.1"), parse_host("::ffff:192.0.2.1"));
  EXPECT_FALSE(parse_host("localhost"));
  EXPECT_FALSE(parse_host("192.0.2"));
  for (const char* loopback : {"127.0.0.1", "127.9.9.9", "::1"})
    EXPECT_TRUE(is_loopback(*parse_host(loopback))) << loopback;
  for (const char* other : {"128.0.0.1", "::2", "0.0.0.0", "7f00::1"})
    EXPECT_FALSE(is_loopback(*parse_host(other))) << other;
  EXPECT_TRUE(is_any(*parse_host("0.0.0.0")) && is_any(*parse_host("::")));
  EXPECT_FALSE(is_any(*parse_host("::1")));
}

TEST(SocketAddress, IsWrittenAsItIsRead) {
  for (const char* text : {"127.0.0.1:9091", "[::1]:9091", "[2001:db8::1]:1"}) {
    const auto address = SocketAddress::numeric(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
  }
  EXPECT_EQ(SocketAddress::unix_path("/tmp/x")->text(), "/tmp/x");
  for (const char* wrong :
       {"", "9091", "127.0.0.1", "localhost:9091", ":9091", "127.0.0.1:", "127.0.0.1:65536"}) {
    const auto refused = SocketAddress::numeric(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().message, HasSubstr("ADDRESS:PORT"));
  }
  EXPECT_THAT(SocketAddress::unix_path(std::string(200, 'x')).error().message, HasSubstr("200"));
  EXPECT_FALSE(SocketAddress::unix_path(""));
  EXPECT_FALSE(SocketAddress::unix_path(std::string("a\0b", 3)));
}

}  // namespace address_test
}  // namespace lw::net
