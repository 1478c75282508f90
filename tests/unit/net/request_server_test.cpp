// SPDX-License-Identifier: BSD-3-Clause
#include "net/request_server.h"

#include <filesystem>
#include <fstream>
#include <future>
#include <new>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::net {
namespace request_server_test {

using testing::HasSubstr;

class Folder {
 public:
  Folder() { path_ = mkdtemp(path_.data()); }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string at(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = "/tmp/longwire-XXXXXX";
};

int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int client = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return client;
}

std::string ask(const std::string& path, const std::string& request) {
  const int client = connect_to(path);
  // A request that is cut off can't be sent whole, and has an answer nevertheless.
  send(client, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer(100, '\0');
  const auto count = recv(client, answer.data(), answer.size(), MSG_WAITALL);
  close(client);
  answer.resize(count > 0 ? std::size_t(count) : 0);
  return answer;
}

Protocol::Answer echo(std::string_view request, const std::string& /*peer*/ = {}) {
  return {shared(fmt::format("<{}>", request))};
}

ListeningSocket listen_at(const std::string& path) {
  return ListeningSocket::open(SocketAddress::unix_path(path).value()).value();
}

/// Answers "one" with "<one>", and "long" with a MiB.
Protocol lines(std::size_t threads = kAnswerThreads) {
  const auto answer = [](std::string_view request, const std::string& /*peer*/) {
    return request == "long" ? Protocol::Answer{shared(std::string(1U << 20, 'l'))} : echo(request);
  };
  return {.longest = kMostControlRequest,
          .length = line_length,
          .answer = answer,
          .too_long = shared("<too long>"),
          .threads = threads};
}

RequestServer server_at(const std::string& path) { return {listen_at(path), lines()}; }

TEST(RequestServer, AnswersOneRequestAConnection) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  const RequestServer server = server_at(path);
  EXPECT_EQ(ask(path, "one\n"), "<one>");
  EXPECT_EQ(ask(path, "two\nthree\n"), "<two>");
}

TEST(RequestServer, AClientThatGoesAwayHurtsNobody) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  const RequestServer server = server_at(path);
  for (int i = 0; i < 10; ++i) close(connect_to(path));
  EXPECT_EQ(ask(path, "one\n"), "<one>");
}

TEST(RequestServer, ARequestThatIsTooLongIsToldSo) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  const RequestServer server = server_at(path);
  EXPECT_EQ(ask(path, std::string(1U << 20, 'x')), "<too long>");
  EXPECT_EQ(ask(path, std::string(kMostControlRequest, 'x') + "\n").size(), 100U);
}

TEST(RequestServer, AnEndMayComeInPieces) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  Protocol protocol = lines();
  protocol.length = [](std::string_view received) -> std::optional<std::size_t> {
    const auto end = received.find("\r\n\r\n");
    return end == std::string_view::npos ? std::nullopt : std::optional(end);
  };
  const RequestServer server(listen_at(path), protocol);
  const int client = connect_to(path);
  for (const std::string_view piece : {"one\r", "\n\r", "\n"}) {
    send(client, piece.data(), piece.size(), 0);
    EXPECT_EQ(ask(path, "two\r\n\r\n"), "<two>");  // the piece is read by then
  }
  std::string answer(100, '\0');
  answer.resize(std::size_t(recv(client, answer.data(), answer.size(), MSG_WAITALL)));
  close(client);
  EXPECT_EQ(answer, "<one>");
}

TEST(RequestServer, AnswersOnItsOwnThreadToo) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  const RequestServer server(listen_at(path), lines(0));
  EXPECT_EQ(ask(path, "one\n"), "<one>");
  EXPECT_EQ(ask(path, "two\n"), "<two>");
}

TEST(RequestServer, ASlowAnswerDelaysNoOtherOne) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  std::promise<void> go_on;
  Protocol protocol = lines();
  protocol.answer = [&, waits = go_on.get_future().share()](std::string_view request,
                                                            const std::string& /*peer*/) {
    if (request == "slow") waits.wait();
    return echo(request);
  };
  const RequestServer server(listen_at(path), protocol);
  const int slow = connect_to(path);
  send(slow, "slow\n", 5, 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(path, "one\n"), "<one>");
  go_on.set_value();
  std::string answer(6, '\0');
  EXPECT_EQ(recv(slow, answer.data(), answer.size(), MSG_WAITALL), 6);
  EXPECT_EQ(answer, "<slow>");
  close(slow);
}

TEST(RequestServer, AnAnswerThatFailsEndsItsConnectionOnly) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  Protocol protocol = lines();
  protocol.answer = [](std::string_view request, const std::string& /*peer*/) {
    if (request == "large") throw std::bad_alloc();
    return echo(request);
  };
  const RequestServer server(listen_at(path), protocol);
  EXPECT_EQ(ask(path, "large\n"), "");
  EXPECT_EQ(ask(path, "one\n"), "<one>");
}

TEST(RequestServer, ASlowReaderGetsAllOfItsAnswer) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  const RequestServer server = server_at(path);
  const int client = connect_to(path);
  send(client, "long\n", 5, 0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(path, "one\n"), "<one>");
  std::string answer(1U << 20, '\0');
  EXPECT_EQ(recv(client, answer.data(), answer.size(), MSG_WAITALL), ssize_t(answer.size()));
  EXPECT_EQ(answer, std::string(1U << 20, 'l'));
  close(client);
}

TEST(RequestServer, TheClientThatWaitedLongestMakesRoom) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  const RequestServer server = server_at(path);
  std::vector<int> idle;
  for (std::size_t i = 0; i < kMostClients + 1; ++i) idle.push_back(connect_to(path));
  EXPECT_EQ(ask(path, "one\n"), "<one>");
  char byte = 0;
  EXPECT_EQ(recv(idle[0], &byte, 1, 0), 0) << "disconnected";
  EXPECT_EQ(recv(idle[1], &byte, 1, 0), 0) << "disconnected";
  EXPECT_EQ(recv(idle.back(), &byte, 1, MSG_DONTWAIT), -1) << "still connected";
  for (const int client : idle) close(client);
}

/// A server of TCP at 127.0.0.1, which all of 127.0.0.0/8 reach.
class Hosts : public testing::Test {
 protected:
  /// Connects from an address.
  Socket from(const char* address) {
    Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto near = SocketAddress::numeric(fmt::format("{}:0", address)).value();
    EXPECT_EQ(bind(socket.descriptor(), near.get(), near.size()), 0);
    const auto far = SocketAddress::numeric(fmt::format("127.0.0.1:{}", server_.port())).value();
    EXPECT_EQ(connect(socket.descriptor(), far.get(), far.size()), 0);
    return socket;
  }
  static std::string exchange(const Socket& client, std::string_view request) {
    send(client.descriptor(), request.data(), request.size(), MSG_NOSIGNAL);
    std::string answer(100, '\0');
    const auto count = recv(client.descriptor(), answer.data(), answer.size(), MSG_WAITALL);
    answer.resize(count > 0 ? std::size_t(count) : 0);
    return answer;
  }

  RequestServer server_{
      ListeningSocket::open(SocketAddress::numeric("127.0.0.1:0").value()).value(), lines()};
};

TEST_F(Hosts, OneCannotExcludeAnotherOne) {
  const Socket first = from("127.0.0.1");
  std::vector<Socket> flood;
  for (std::size_t i = 0; i < 2 * kMostClients; ++i) flood.push_back(from("127.0.0.2"));
  EXPECT_EQ(exchange(first, "one\n"), "<one>") << "connected before the flood, and idle since";
  EXPECT_EQ(exchange(from("127.0.0.1"), "two\n"), "<two>");
  char byte = 0;
  EXPECT_LE(recv(flood.front().descriptor(), &byte, 1, 0), 0) << "disconnected";
}

TEST_F(Hosts, EachGetsItsAnswerWhileAnotherFloods) {
  std::vector<Socket> flood;
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < kMostClients; ++i) {
      flood.push_back(from("127.0.0.2"));
      send(flood.back().descriptor(), "x", 1, MSG_NOSIGNAL);
    }
    EXPECT_EQ(exchange(from("127.0.0.1"), "one\n"), "<one>");
    flood.clear();
  }
}

Result<ListeningSocket> open_unix(const std::string& path) {
  const auto address = SocketAddress::unix_path(path);
  if (!address) return std::unexpected(address.error());
  return ListeningSocket::open(*address);
}

TEST(ListeningSocket, BelongsToItsOwnerAndGoesWithIt) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  {
    const auto socket = open_unix(path);
    ASSERT_TRUE(socket);
    struct stat info{};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ListeningSocket, TakesOverWhatADeadProcessLeft) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  auto first = open_unix(path);
  ASSERT_TRUE(first);
  const auto second = open_unix(path);
  EXPECT_FALSE(second) << "somebody listens there";
  // As after a kill: the descriptor is closed, the file stays.
  const int copy = dup(first->descriptor());
  std::filesystem::rename(path, folder.at("kept"));
  {
    const auto gone = std::move(*first);
  }
  close(copy);
  std::filesystem::rename(folder.at("kept"), path);
  EXPECT_TRUE(open_unix(path));
}

TEST(ListeningSocket, NeverTakesAFile) {
  const Folder folder;
  std::ofstream(folder.at("precious")) << "text";
  const auto socket = open_unix(folder.at("precious"));
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().exit, ExitCode::environment);
  EXPECT_TRUE(std::filesystem::exists(folder.at("precious")));
}

TEST(ListeningSocket, KnowsThePortThatTheSystemChose) {
  const auto loopback = ListeningSocket::open(SocketAddress::numeric("127.0.0.1:0").value());
  ASSERT_TRUE(loopback);
  EXPECT_NE(loopback->port(), 0);
  const auto taken = ListeningSocket::open(
      SocketAddress::numeric(fmt::format("127.0.0.1:{}", loopback->port())).value());
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message,
              HasSubstr(fmt::format("(process {}) listens there", getpid())));
}

}  // namespace request_server_test
}  // namespace lw::net
