// SPDX-License-Identifier: BSD-3-Clause
#include "net/socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/socket_holder.h"

namespace lw::net {
namespace {

/// Of each connection, in bytes. What a client sends beyond is held by the client.
constexpr int kReceiveBuffer = 1 << 14;
/// Of each connection, in bytes. What a slow client does not take is not kept.
constexpr int kSendBuffer = 1 << 18;

void set_option(const Socket& socket, int level, int name, int value) noexcept {
  setsockopt(socket.descriptor(), level, name, &value, sizeof value);
}

Socket new_socket(const SocketAddress& address) noexcept {
  return Socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Returns 0, or an errno.
int connect_within(const Socket& socket, const SocketAddress& to, Duration timeout) noexcept {
  if (connect(socket.descriptor(), to.get(), to.size()) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!socket.wait_for(POLLOUT, timeout)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

/// Removes the file that a killed process left: a socket at which nobody listens.
void remove_stale(const SocketAddress& address) {
  struct stat info{};
  if (lstat(address.path().c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  const Socket probe = new_socket(address);
  if (connect(probe.descriptor(), address.get(), address.size()) != 0 && errno == ECONNREFUSED)
    unlink(address.path().c_str());
}

std::unexpected<Error> refused(const SocketAddress& address) {
  if (errno == EADDRINUSE && address.path().empty())
    return fail(fmt::format("{}: {} listens there: end it, or choose another port", address.text(),
                            listener_at(address.port())),
                ExitCode::environment);
  return fail(fmt::format("{} can't be listened at: {}", address.text(), std::strerror(errno)),
              ExitCode::environment);
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Socket::wait_for(short events, Duration timeout) const noexcept {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  pollfd one{descriptor_, events, 0};
  return poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000))) > 0;
}

std::expected<Socket, int> connect_to(std::span<const SocketAddress> addresses, Duration timeout) {
  int error = ECONNREFUSED;
  for (const SocketAddress& address : addresses) {
    Socket socket = new_socket(address);
    error = socket.descriptor() < 0 ? errno : connect_within(socket, address, timeout);
    if (error == 0) return socket;
  }
  return std::unexpected(error);
}

Result<ListeningSocket> ListeningSocket::open(const SocketAddress& address) {
  const std::string path = address.path();
  if (!path.empty()) remove_stale(address);
  Socket socket = new_socket(address);
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(socket, SOL_SOCKET, SO_RCVBUF, kReceiveBuffer);
  set_option(socket, SOL_SOCKET, SO_SNDBUF, kSendBuffer);
  if (address.family() == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  // A Unix socket's file gets the permissions of the descriptor: only its owner's from the start.
  fchmod(socket.descriptor(), S_IRUSR | S_IWUSR);
  if (bind(socket.descriptor(), address.get(), address.size()) != 0) return refused(address);
  ListeningSocket listening(std::move(socket), path);
  if (!path.empty() && chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) return refused(address);
  if (listen(listening.descriptor(), SOMAXCONN) != 0) return refused(address);
  return listening;
}

ListeningSocket::~ListeningSocket() {
  if (descriptor() >= 0 && !path_.empty()) unlink(path_.c_str());
}

std::expected<Socket, int> ListeningSocket::accept() const noexcept {
  const int accepted = accept4(descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (accepted < 0) return std::unexpected(errno);
  return Socket(accepted);
}

std::uint16_t ListeningSocket::port() const noexcept {
  return SocketAddress::of_socket(descriptor()).port();
}

}  // namespace lw::net
