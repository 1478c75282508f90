// SPDX-License-Identifier: BSD-3-Clause
#include "net/line_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Duration kPollStep = std::chrono::milliseconds(50);
constexpr Duration kMeanwhileStep = std::chrono::milliseconds(1);
constexpr Duration kSendFor = std::chrono::seconds(5);

/// Sets timeouts: a silent peer is detected after 5 + 3 x 3 s, a peer that reads nothing after
/// 15 s. A Unix socket has none of these options, and needs none.
void set_timeouts(int socket) noexcept {
  const auto set = [&](int level, int name, int value) {
    setsockopt(socket, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 15'000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

std::unexpected<Error> gone(std::string_view how) {
  return fail(fmt::format("the other side of the connection {}", how), ExitCode::failed);
}

/// Returns the error for a failed read or write.
std::unexpected<Error> lost(int error) {
  if (error == ETIMEDOUT) return gone("does not answer any longer");
  if (error == ECONNRESET || error == EPIPE) return gone("has closed it");
  return gone(fmt::format("can't be reached: {}", std::strerror(error)));
}

}  // namespace

LineConnection::LineConnection(Socket socket, std::size_t longest)
    : socket_(std::move(socket)), longest_(longest) {
  set_timeouts(descriptor());
}

Result<void> LineConnection::send(std::string_view text) {
  const auto until = Clock::now() + kSendFor;
  while (!text.empty()) {
    const ssize_t sent = ::send(descriptor(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EINTR) {
      if (Clock::now() >= until) return gone("takes no data");
      static_cast<void>(socket_.wait_for(POLLOUT, kPollStep));
    } else {
      return lost(errno);
    }
  }
  return {};
}

Result<std::optional<std::string>> LineConnection::poll() {
  while (true) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos && end <= longest_) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (overlong())
      return fail(fmt::format("expected a line of at most {} bytes, found more", longest_),
                  ExitCode::failed);
    std::array<char, 4096> piece;
    const ssize_t size = recv(descriptor(), piece.data(), piece.size(), 0);
    if (size > 0) {
      received_.append(piece.data(), static_cast<std::size_t>(size));
    } else if (size == 0) {
      return gone("has closed it");
    } else if (errno == EAGAIN) {
      return std::nullopt;
    } else if (errno != EINTR) {
      return lost(errno);
    }
  }
}

Result<std::string> LineConnection::receive(Duration timeout, const std::atomic<bool>& stop,
                                            const Meanwhile& meanwhile) {
  const Duration step = meanwhile ? kMeanwhileStep : kPollStep;
  const auto until = Clock::now() + timeout;
  while (true) {
    auto line = poll();
    if (!line) return std::unexpected(line.error());
    if (*line) return std::move(**line);
    if (stop.load(std::memory_order_relaxed)) return fail("interrupted", ExitCode::failed);
    const auto now = Clock::now();
    if (now >= until) return gone(fmt::format("said nothing for {}", format_set_duration(timeout)));
    if (meanwhile) meanwhile();
    static_cast<void>(socket_.wait_for(POLLIN, std::min<Duration>(step, until - now)));
  }
}

void LineConnection::end_sending() noexcept { shutdown(descriptor(), SHUT_WR); }

bool LineConnection::ended() const noexcept { return socket_.wait_for(POLLRDHUP, Duration{}); }

SocketAddress LineConnection::local() const noexcept {
  return SocketAddress::of_socket(descriptor());
}

SocketAddress LineConnection::peer() const noexcept { return SocketAddress::of_peer(descriptor()); }

}  // namespace lw::net
