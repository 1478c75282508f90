// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/request_client.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "impair/control/unix_address.h"

namespace lw::impair {
namespace {

constexpr timeval kAnswerPatience{.tv_sec = 30, .tv_usec = 0};

std::string exchange(int server, std::string_view text) {
  std::string answer;
  std::array<char, 4096> piece;
  // A request that the server cuts off has an answer nevertheless.
  while (!text.empty()) {
    const auto sent = send(server, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  for (ssize_t count; (count = recv(server, piece.data(), piece.size(), 0)) > 0;)
    answer.append(piece.data(), static_cast<std::size_t>(count));
  return answer;
}

}  // namespace

Result<std::string> request(const std::string& path, std::string_view text) {
  const auto address = unix_address(path);
  if (!address) return std::unexpected(address.error());
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // For connecting too: it waits while the server's queue of connections is full.
  for (const int timeout : {SO_SNDTIMEO, SO_RCVTIMEO})
    setsockopt(server, SOL_SOCKET, timeout, &kAnswerPatience, sizeof kAnswerPatience);
  if (connect(server, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    const std::string why = std::strerror(errno);
    close(server);
    return fail(
        fmt::format("{}: {}; is a `roce-impair run --control {}` running?", path, why, path),
        ExitCode::environment);
  }
  std::string answer = exchange(server, text);
  close(server);
  if (answer.empty()) return fail(path + ": no answer", ExitCode::environment);
  return answer;
}

}  // namespace lw::impair
