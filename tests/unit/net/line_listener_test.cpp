// SPDX-License-Identifier: BSD-3-Clause
#include "net/line_listener.h"

#include <sys/resource.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::net {
namespace line_listener_test {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::size_t kLongest = 100, kWaiting = 8;
const std::atomic<bool> kGoOn = false;

class Lines : public testing::Test {
 protected:
  /// Connects from an address.
  LineConnection from(const char* address) {
    Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto near = SocketAddress::numeric(fmt::format("{}:0", address)).value();
    EXPECT_EQ(bind(socket.descriptor(), near.get(), near.size()), 0);
    const auto far = SocketAddress::numeric(fmt::format("127.0.0.1:{}", listener_.port())).value();
    EXPECT_EQ(connect(socket.descriptor(), far.get(), far.size()), 0);
    return {std::move(socket), kLongest};
  }

  LineListener listener_{
      ListeningSocket::open(SocketAddress::numeric("127.0.0.1:0").value()).value(),
      {.line = kLongest, .waiting = kWaiting, .idle = 1h}};
};

TEST_F(Lines, ComeOneByOne) {
  LineConnection client = from("127.0.0.1");
  ASSERT_TRUE(client.send("one\ntwo\n"));
  auto arrival = listener_.poll(5s);
  ASSERT_TRUE(arrival);
  EXPECT_EQ(arrival->line.value(), "one");
  EXPECT_EQ(arrival->connection.receive(5s, kGoOn).value(), "two");
  EXPECT_EQ(arrival->connection.peer().host(), *parse_host("127.0.0.1"));
}

TEST_F(Lines, OfTheLargestLengthAreRead) {
  LineConnection client = from("127.0.0.1"), wordy = from("127.0.0.1");
  ASSERT_TRUE(client.send(std::string(kLongest, 'x') + "\n"));
  EXPECT_EQ(listener_.poll(5s)->line.value().size(), kLongest);
  ASSERT_TRUE(wordy.send(std::string(kLongest + 1, 'x')));
  const auto arrival = listener_.poll(5s);
  ASSERT_TRUE(arrival);
  ASSERT_FALSE(arrival->line);
  EXPECT_THAT(arrival->line.error().message, HasSubstr("at most 100 bytes"));
}

TEST_F(Lines, AHostCannotExcludeAnotherOne) {
  LineConnection first = from("127.0.0.1");
  std::vector<LineConnection> flood;
  for (std::size_t i = 0; i < 4 * kWaiting; ++i) {
    flood.push_back(from("127.0.0.2"));
    EXPECT_FALSE(listener_.poll(0s));
  }
  ASSERT_TRUE(first.send("one\n"));
  EXPECT_EQ(listener_.poll(5s)->line.value(), "one");
  ASSERT_FALSE(flood.front().receive(5s, kGoOn)) << "disconnected";
}

TEST_F(Lines, ADismissedClientReadsItsLine) {
  LineConnection client = from("127.0.0.1");
  ASSERT_TRUE(client.send("one\nmore that nobody reads"));
  auto arrival = listener_.poll(5s);
  ASSERT_TRUE(arrival);
  listener_.dismiss(std::move(arrival->connection), "no\n");
  EXPECT_EQ(client.receive(5s, kGoOn).value(), "no");
}

TEST_F(Lines, ComeThoughDescriptorsAreUsedUp) {
  std::vector<LineConnection> silent;
  for (std::size_t i = 0; i < kWaiting / 2; ++i) silent.push_back(from("127.0.0.2"));
  EXPECT_FALSE(listener_.poll(0s));
  LineConnection client = from("127.0.0.1");
  ASSERT_TRUE(client.send("one\n"));
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{.rlim_cur = 1, .rlim_max = usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto refused = listener_.poll(0s);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_FALSE(refused);
  EXPECT_FALSE(silent.front().receive(5s, kGoOn)) << "made room";
  EXPECT_EQ(listener_.poll(5s)->line.value(), "one");
}

}  // namespace line_listener_test
}  // namespace lw::net
