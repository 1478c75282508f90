// SPDX-License-Identifier: BSD-3-Clause
#include "net/address.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <fmt/format.h>

namespace lw::net {
namespace {

constexpr std::size_t kMapped = 12;  // bytes before the IPv4 address in ::ffff:a.b.c.d

Host host_of(const in_addr& address) noexcept {
  Host host{};
  host[kMapped - 2] = host[kMapped - 1] = std::byte{0xff};
  std::memcpy(host.data() + kMapped, &address, sizeof address);
  return host;
}

Host host_of(const in6_addr& address) noexcept {
  Host host{};
  std::memcpy(host.data(), &address, host.size());
  return host;
}

bool is_ipv4(const Host& host) noexcept {
  const Host first = host_of(in_addr{});
  return std::equal(host.begin(), host.begin() + kMapped, first.begin());
}

std::optional<std::uint16_t> port_of(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

}  // namespace

std::optional<HostPort> split_address(std::string_view text) {
  HostPort parts;
  const bool bracketed = text.starts_with('[');
  const auto bracket = bracketed ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return std::nullopt;
  const auto colon = text.find(':', bracket);
  const bool bare_ipv6 = !bracketed && colon != text.rfind(':');
  if (colon == std::string_view::npos || bare_ipv6) {
    parts.host = text;
  } else {
    parts.host = text.substr(0, colon);
    parts.port = port_of(text.substr(colon + 1));
    if (!parts.port) return std::nullopt;
  }
  if (!bracketed) return parts;
  if (parts.host.size() != bracket + 1) return std::nullopt;
  parts.host = parts.host.substr(1, bracket - 1);
  return parts;
}

std::string address_text(std::string_view host, std::uint16_t port) {
  return host.find(':') == std::string_view::npos ? fmt::format("{}:{}", host, port)
                                                  : fmt::format("[{}]:{}", host, port);
}

std::optional<Host> parse_host(const std::string& text) {
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return host_of(v4);
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) return host_of(v6);
  return std::nullopt;
}

bool is_loopback(const Host& host) noexcept {
  return host == host_of(in6addr_loopback) || (is_ipv4(host) && host[kMapped] == std::byte{127});
}

bool is_any(const Host& host) noexcept { return host == Host{} || host == host_of(in_addr{}); }

SocketAddress::SocketAddress(const void* address, socklen_t size) noexcept : size_(size) {
  std::memcpy(&storage_, address, size);
}

Result<SocketAddress> SocketAddress::unix_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path ||
      path.find('\0') != std::string::npos)
    return fail(fmt::format("socket `{}`: expected a path of 1 to {} bytes without NUL, found {}",
                            path, sizeof address.sun_path - 1, path.size()));
  path.copy(address.sun_path, path.size());
  return SocketAddress(&address, sizeof address);
}

Result<std::vector<SocketAddress>> SocketAddress::resolve(const std::string& host,
                                                          std::uint16_t port) {
  addrinfo hints{}, *first = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const int code = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(),
                               &hints, &first);
  if (code != 0)
    return fail(fmt::format("{}: {}", host, gai_strerror(code)), ExitCode::environment);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(first, freeaddrinfo);
  std::vector<SocketAddress> found;
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next)
    found.push_back(SocketAddress(each->ai_addr, each->ai_addrlen));
  return found;
}

Result<SocketAddress> SocketAddress::numeric(const std::string& text) {
  const auto parts = split_address(text);
  if (!parts || !parts->port || !parse_host(parts->host))
    return fail(
        fmt::format("expected ADDRESS:PORT in numbers, \"127.0.0.1:9091\", found \"{}\"", text));
  auto found = resolve(parts->host, *parts->port);
  if (!found) return std::unexpected(found.error());
  return found->front();
}

SocketAddress SocketAddress::of_socket(int socket) noexcept {
  SocketAddress address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage_), &address.size_);
  return address;
}

SocketAddress SocketAddress::of_peer(int socket) noexcept {
  SocketAddress address;
  getpeername(socket, reinterpret_cast<sockaddr*>(&address.storage_), &address.size_);
  return address;
}

Host SocketAddress::host() const noexcept {
  if (family() == AF_INET) return host_of(reinterpret_cast<const sockaddr_in*>(get())->sin_addr);
  if (family() == AF_INET6) return host_of(reinterpret_cast<const sockaddr_in6*>(get())->sin6_addr);
  return {};
}

std::uint16_t SocketAddress::port() const noexcept {
  // The port stands at the same place in both families' addresses.
  return path().empty() ? ntohs(reinterpret_cast<const sockaddr_in*>(get())->sin_port) : 0;
}

std::string SocketAddress::path() const {
  return family() == AF_UNIX ? reinterpret_cast<const sockaddr_un*>(get())->sun_path : "";
}

std::string SocketAddress::text() const {
  if (family() == AF_UNIX) return path();
  std::array<char, INET6_ADDRSTRLEN> host{};
  const Host bytes = this->host();
  if (family() == AF_INET) {
    inet_ntop(AF_INET, bytes.data() + kMapped, host.data(), host.size());
  } else {
    inet_ntop(AF_INET6, bytes.data(), host.data(), host.size());
  }
  return address_text(host.data(), port());
}

std::string peer_text(int socket) {
  const SocketAddress peer = SocketAddress::of_peer(socket);
  if (peer.family() != AF_UNIX) return peer.text();
  ucred who{};
  socklen_t size = sizeof who;
  const bool known = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
  return known ? fmt::format("user {}", who.uid) : "an unknown user";
}

}  // namespace lw::net
