// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/time.h"
#include "net/address.h"

namespace lw::net {

/// A socket, closed with the object.
class Socket {
 public:
  /// Takes ownership of a descriptor; -1: none.
  explicit Socket(int descriptor = -1) noexcept : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Waits for `events` of poll(2). Returns false if none comes within `timeout`.
  [[nodiscard]] bool wait_for(short events, Duration timeout) const noexcept;

 private:
  int descriptor_;
};

/// Connects to the first of `addresses` that answers within `timeout`; the socket does not block.
/// Returns errno's value for the last failure otherwise.
std::expected<Socket, int> connect_to(std::span<const SocketAddress> addresses, Duration timeout);

/// A socket that listens and does not block. The file of a Unix socket is removed with it.
class ListeningSocket {
 public:
  /// Errors (environment): another program listens there, or the system refuses. Only its owner
  /// may use a Unix socket; an existing file is replaced only if it is a socket at which nobody
  /// listens.
  static Result<ListeningSocket> open(const SocketAddress& address);

  ListeningSocket(ListeningSocket&&) noexcept = default;
  ListeningSocket& operator=(ListeningSocket&&) = delete;
  ~ListeningSocket();

  /// Returns a connection that waits to be accepted; it does not block. errno's value if there is
  /// none (EAGAIN), or no descriptor or memory for it.
  [[nodiscard]] std::expected<Socket, int> accept() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
  /// The port that the system chose where 0 was asked for.
  [[nodiscard]] std::uint16_t port() const noexcept;

 private:
  ListeningSocket(Socket socket, std::string path)
      : socket_(std::move(socket)), path_(std::move(path)) {}

  Socket socket_;
  std::string path_;  // of a Unix socket
};

}  // namespace lw::net
