// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/request_server.h"

#include <filesystem>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::impair {
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

SharedText echo(std::string_view request) {
  return std::make_shared<const std::string>(fmt::format("<{}>", request));
}

/// A server at `path` that answers "one" with "<one>", and "long" with a MiB.
RequestServer server_at(const std::string& path) {
  const auto answer = [](std::string_view request) {
    return request == "long" ? std::make_shared<const std::string>(1U << 20, 'l') : echo(request);
  };
  return {ListeningSocket::unix_socket(path).value(),
          {.end = "\n", .answer = answer, .too_long = "<too long>"}};
}

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
  EXPECT_EQ(ask(path, std::string(RequestServer::kLongestRequest, 'x') + "\n").size(), 100U);
}

TEST(RequestServer, AnEndMayComeInPieces) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  const RequestServer server(ListeningSocket::unix_socket(path).value(),
                             {.end = "\r\n\r\n", .answer = echo, .too_long = ""});
  const int client = connect_to(path);
  for (const std::string_view piece : {"one\r", "\n\r", "\n"}) {
    send(client, piece.data(), piece.size(), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::string answer(100, '\0');
  answer.resize(std::size_t(recv(client, answer.data(), answer.size(), MSG_WAITALL)));
  close(client);
  EXPECT_EQ(answer, "<one>");
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
  for (std::size_t i = 0; i < RequestServer::kMostClients + 1; ++i)
    idle.push_back(connect_to(path));
  EXPECT_EQ(ask(path, "one\n"), "<one>");
  char byte = 0;
  EXPECT_EQ(recv(idle[0], &byte, 1, 0), 0) << "disconnected";
  EXPECT_EQ(recv(idle[1], &byte, 1, 0), 0) << "disconnected";
  EXPECT_EQ(recv(idle.back(), &byte, 1, MSG_DONTWAIT), -1) << "still connected";
  for (const int client : idle) close(client);
}

TEST(ListeningSocket, BelongsToItsOwnerAndGoesWithIt) {
  const Folder folder;
  const std::string path = folder.at("ctl");
  {
    const auto socket = ListeningSocket::unix_socket(path);
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
  auto first = ListeningSocket::unix_socket(path);
  ASSERT_TRUE(first);
  const auto second = ListeningSocket::unix_socket(path);
  EXPECT_FALSE(second) << "somebody listens there";
  // As after a kill: the descriptor is closed, the file stays.
  const int copy = dup(first->descriptor());
  std::filesystem::rename(path, folder.at("kept"));
  {
    const auto gone = std::move(*first);
  }
  close(copy);
  std::filesystem::rename(folder.at("kept"), path);
  EXPECT_TRUE(ListeningSocket::unix_socket(path));
}

TEST(ListeningSocket, NeverTakesAFile) {
  const Folder folder;
  std::ofstream(folder.at("precious")) << "text";
  const auto socket = ListeningSocket::unix_socket(folder.at("precious"));
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().exit, ExitCode::environment);
  EXPECT_TRUE(std::filesystem::exists(folder.at("precious")));
}

TEST(ListeningSocket, AddressesAreNumbers) {
  const auto loopback = ListeningSocket::tcp("127.0.0.1:0");
  ASSERT_TRUE(loopback);
  EXPECT_NE(loopback->port(), 0);
  for (const auto* wrong : {"", "9091", "127.0.0.1", "localhost:9091", ":9091",
                            "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1"}) {
    const auto refused = ListeningSocket::tcp(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().message, HasSubstr("ADDRESS:PORT"));
  }
  EXPECT_THAT(ListeningSocket::unix_socket(std::string(200, 'x')).error().message,
              HasSubstr("200"));
}

}  // namespace request_server_test
}  // namespace lw::impair
