// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/request_server.h"

#include <array>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace lw::impair {
namespace {

constexpr int kPollMs = 100;  // how long an end may take to be noticed
constexpr timeval kPatience{.tv_sec = 2, .tv_usec = 0};
constexpr std::size_t kLongestRequest = 1U << 20;

bool write_all(int client, std::string_view text) {
  while (!text.empty()) {
    const auto count = send(client, text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

RequestServer::RequestServer(ListeningSocket socket, std::string end, Answer answer)
    : socket_(std::move(socket)),
      end_(std::move(end)),
      answer_(std::move(answer)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

void RequestServer::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd waiting{.fd = socket_.descriptor(), .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, kPollMs) <= 0) continue;
    const int client = accept4(socket_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
    serve(client);
    close(client);
  }
}

void RequestServer::serve(int client) const {
  std::string request;
  std::array<char, 4096> piece;
  while (request.find(end_) == std::string::npos) {
    const auto count = recv(client, piece.data(), piece.size(), 0);
    if (count <= 0 || request.size() > kLongestRequest) return;
    request.append(piece.data(), static_cast<std::size_t>(count));
  }
  write_all(client, answer_(std::string_view(request).substr(0, request.find(end_))));
}

}  // namespace lw::impair
