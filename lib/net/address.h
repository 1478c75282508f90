// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

#include "core/error.h"

namespace lw::net {

/// A host as the address of a socket names it: 16 bytes, IPv4 as ::ffff:a.b.c.d; zero for Unix
/// sockets.
using Host = std::array<std::byte, 16>;

/// Returns who is at the far end of a connected socket, for people: "192.0.2.1:40123"; of a Unix
/// socket "user 1000".
std::string peer_text(int socket);

/// The parts of a text such as "192.0.2.1:9092".
struct HostPort {
  std::string host;                   // without brackets; may be empty
  std::optional<std::uint16_t> port;  // none: the text has none
};

/// Splits "HOST", "HOST:PORT", ":PORT", "[IPV6]", "[IPV6]:PORT" or an IPv6 address. Returns nothing
/// for another form, and for a port that is not a number from 0 to 65535.
std::optional<HostPort> split_address(std::string_view text);
/// Returns "HOST:PORT" or "[IPV6]:PORT".
std::string address_text(std::string_view host, std::uint16_t port);
/// Returns the host that an IP address in numbers names; nothing for other text.
std::optional<Host> parse_host(const std::string& text);
/// Returns true if only this machine reaches the host: 127.0.0.0/8, ::1.
bool is_loopback(const Host& host) noexcept;
/// Returns true for all addresses of a machine: 0.0.0.0, ::.
bool is_any(const Host& host) noexcept;

/// The address of a socket: of TCP, or a path.
class SocketAddress {
 public:
  /// Error (usage): a path that the system's address has no room for.
  static Result<SocketAddress> unix_path(const std::string& path);
  /// Returns the addresses of a host: a name, or a number. An empty `host` is each address of this
  /// machine. Errors (environment): an unknown host.
  static Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port);
  /// "127.0.0.1:9091", "[::1]:9091". Error (usage): another form.
  static Result<SocketAddress> numeric(const std::string& text);
  /// The near or the far end of a connected socket, or where a socket listens.
  static SocketAddress of_socket(int socket) noexcept;
  static SocketAddress of_peer(int socket) noexcept;

  [[nodiscard]] Host host() const noexcept;
  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage_);
  }
  [[nodiscard]] socklen_t size() const noexcept { return size_; }
  /// The path of a Unix socket; empty for TCP.
  [[nodiscard]] std::string path() const;
  /// "127.0.0.1:9091", "[::1]:9091", or the path.
  [[nodiscard]] std::string text() const;

 private:
  SocketAddress() = default;
  SocketAddress(const void* address, socklen_t size) noexcept;

  sockaddr_storage storage_{};
  socklen_t size_ = sizeof storage_;
};

}  // namespace lw::net
