// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/messages.h"

#include <cstring>
#include <poll.h>
#include <sys/socket.h>

#include "nic/clock.h"

namespace lw::gen::otg {
namespace {

using Length = std::uint64_t;

/// Fills `out`; returns false at the end of the stream, and at `until`.
bool receive_all(const net::Socket& socket, std::span<char> out, Instant until) {
  while (!out.empty()) {
    const Duration left = until - nic::now();
    if (left <= Duration{} || !socket.wait_for(POLLIN, left)) return false;
    const ssize_t got = recv(socket.descriptor(), out.data(), out.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

bool send_text(const net::Socket& socket, std::string_view text, Duration timeout) {
  const Instant until = nic::now() + timeout;
  const Length length = text.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += text;
  for (std::string_view left = bytes; !left.empty();) {
    const Duration rest = until - nic::now();
    if (rest <= Duration{} || !socket.wait_for(POLLOUT, rest)) return false;
    const ssize_t sent =
        send(socket.descriptor(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::optional<std::string> receive_text(const net::Socket& socket, std::size_t most,
                                        Duration timeout) {
  const Instant until = nic::now() + timeout;
  Length length = 0;
  std::array<char, sizeof length> head{};
  if (!receive_all(socket, head, until)) return std::nullopt;
  std::memcpy(&length, head.data(), sizeof length);
  if (length > most) return std::nullopt;
  std::string text(length, '\0');
  if (!receive_all(socket, text, until)) return std::nullopt;
  return text;
}

bool has_text(const net::Socket& socket) noexcept {
  char byte = 0;
  const ssize_t got = recv(socket.descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EINTR);
}

}  // namespace lw::gen::otg
