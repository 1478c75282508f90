// SPDX-License-Identifier: BSD-3-Clause
#include "web/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::web {
namespace access_test {

using testing::HasSubstr;

constexpr const char* kToken = "0123456789abcdef";

int status_of(const Access& access, Guard guard, const Access::Headers& headers) {
  const auto refusal = access.refuse(guard, headers);
  return refusal ? refusal->status : 200;
}

TEST(Access, HostIsAnAddressOfOurs) {
  const auto page = [](const char* address, const char* host) {
    return status_of(Access(Address::of_page(address).value(), kToken), Guard::page,
                     {.host = host, .origin = "", .authorization = ""});
  };
  EXPECT_EQ(page("9092", "127.0.0.1:9092"), 200);
  EXPECT_EQ(page("9092", "localhost:9092"), 200);
  EXPECT_EQ(page("80", "127.0.0.1"), 200);
  EXPECT_EQ(page("[::1]:9092", "[::1]:9092"), 200);
  EXPECT_EQ(page("192.0.2.1:9092", "192.0.2.1:9092"), 200);
  EXPECT_EQ(page("0.0.0.0:9092", "192.0.2.9:9092"), 200);
  for (const char* wrong : {"", "evil.example:9092", "127.0.0.1", "127.0.0.1:9093", "[127.0.0.1",
                            "192.0.2.9:9092", "127.0.0.1:9092:9092", "localhost.:9092"})
    EXPECT_EQ(page("9092", wrong), 403) << wrong;
  EXPECT_EQ(page("192.0.2.1:9092", "localhost:9092"), 403);
  EXPECT_EQ(page("0.0.0.0:9092", "evil.example:9092"), 403);
}

TEST(Access, MetricsAreReadByAddressOrByTheNameThatIsBound) {
  const auto scrape = [](const char* address, const char* host) {
    return status_of(Access(Address::of_metrics(address).value(), ""), Guard::scraper,
                     {.host = host, .origin = "", .authorization = ""});
  };
  EXPECT_EQ(scrape("127.0.0.1:9091", "127.0.0.1:9091"), 200);
  EXPECT_EQ(scrape("127.0.0.1:9091", "localhost:9091"), 200);
  EXPECT_EQ(scrape("localhost:9091", "localhost:9091"), 200);
  EXPECT_EQ(scrape("0.0.0.0:9091", "192.0.2.7:9091"), 200);
  EXPECT_EQ(scrape("0.0.0.0:9091", ""), 200) << "no browser";
  EXPECT_EQ(scrape("0.0.0.0:9091", "evil.example:9091"), 403);
  EXPECT_EQ(scrape("127.0.0.1:9091", "evil.example:9091"), 403);
}

TEST(Access, QueriesNeedTheTokenAndChangesTheOrigin) {
  const Access access(Address::of_page("9092").value(), kToken);
  const std::string host = "127.0.0.1:9092", ours = "http://127.0.0.1:9092";
  const std::string good = "Bearer 0123456789abcdef";
  EXPECT_EQ(status_of(access, Guard::token, {host, "", good}), 200);
  EXPECT_EQ(status_of(access, Guard::token, {host, ours, good}), 200);
  EXPECT_EQ(status_of(access, Guard::token, {host, "http://evil.example", good}), 403);
  EXPECT_EQ(status_of(access, Guard::change, {host, ours, good}), 200);
  EXPECT_EQ(status_of(access, Guard::change, {host, "", good}), 403);
  EXPECT_EQ(status_of(access, Guard::change, {host, "null", good}), 403);
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer 0123456789abcde", "bearer x",
                            "0123456789abcdef", "Bearer 0123456789abcdef0"})
    EXPECT_EQ(status_of(access, Guard::token, {host, ours, wrong}), 401) << wrong;
}

TEST(Address, IsReadFromItsForms) {
  EXPECT_EQ(Address::of_page("9092")->text(), "127.0.0.1:9092");
  EXPECT_EQ(Address::of_page("[::1]:0")->text(), "[::1]:0");
  for (const char* wrong : {"", "x", "70000", "example.com:80", "127.0.0.1:", "127.0.0.1:70000"})
    EXPECT_THAT(Address::of_page(wrong).error().message, HasSubstr("[ADDRESS:]PORT in numbers"));
  for (const char* wrong : {"", "9091", ":9091", "127.0.0.1", "127.0.0.1:70000"})
    EXPECT_THAT(Address::of_metrics(wrong).error().message, HasSubstr("expected ADDRESS:PORT"));
}

}  // namespace access_test
}  // namespace lw::web
