// SPDX-License-Identifier: BSD-3-Clause
#include "web/access.h"

#include <arpa/inet.h>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "core/token.h"

namespace lw::web {
namespace {

constexpr std::uint16_t kHttpPort = 80;  // which browsers leave out of Host and Origin

struct HostPort {
  std::string_view host;
  std::uint16_t port = kHttpPort;
};

std::optional<std::uint16_t> port_of(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

/// "HOST", "HOST:PORT", "[HOST]:PORT"; the host is without brackets.
std::optional<HostPort> split(std::string_view text) noexcept {
  HostPort found;
  const auto bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return std::nullopt;
  const auto colon = text.find(':', bracket);
  found.host = text.substr(0, colon);
  if (bracket > 0) {
    if (found.host.size() != bracket + 1) return std::nullopt;
    found.host = text.substr(1, bracket - 1);
  }
  if (colon == std::string_view::npos) return found;
  const auto port = port_of(text.substr(colon + 1));
  if (!port) return std::nullopt;
  found.port = *port;
  return found;
}

/// The bytes of an IP address in numbers; empty: it is none.
std::string ip_bytes(const std::string& text) {
  in6_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) == 1)
    return {reinterpret_cast<const char*>(&address), sizeof(in_addr)};
  if (inet_pton(AF_INET6, text.c_str(), &address) == 1)
    return {reinterpret_cast<const char*>(&address), sizeof address};
  return {};
}

bool is_loopback(const std::string& bytes) {
  const std::string v6 = std::string(15, '\0') + '\x01';
  return bytes == v6 || (bytes.size() == sizeof(in_addr) && bytes[0] == 127);
}

}  // namespace

Result<Address> Address::parse(const std::string& text) {
  const bool bare = text.find(':') == std::string::npos;
  const auto parts = bare ? std::optional(HostPort{"127.0.0.1", 0}) : split(text);
  const auto port = bare ? port_of(text) : parts ? std::optional(parts->port) : std::nullopt;
  const std::string bytes = parts ? ip_bytes(std::string(parts->host)) : "";
  const bool has_port = bare || (parts && text.ends_with(fmt::format(":{}", parts->port)));
  if (!port || bytes.empty() || !has_port)
    return fail(
        fmt::format("--web: expected [ADDRESS:]PORT in numbers, \"9092\", "
                    "\"192.0.2.1:9092\" or \"[::1]:9092\", found \"{}\"",
                    text));
  return Address{.address = std::string(parts->host),
                 .port = *port,
                 .loopback = is_loopback(bytes),
                 .any = bytes.find_first_not_of('\0') == std::string::npos};
}

std::string Address::text() const {
  return address.find(':') == std::string::npos ? fmt::format("{}:{}", address, port)
                                                : fmt::format("[{}]:{}", address, port);
}

bool Access::is_our_host(std::string_view host) const {
  const auto given = split(host);
  if (!given || given->port != address_.port) return false;
  if (address_.loopback && given->host == "localhost") return true;
  // A name could be anybody's; a number can't be made to point elsewhere.
  const std::string bytes = ip_bytes(std::string(given->host));
  return !bytes.empty() && (address_.any || bytes == ip_bytes(address_.address));
}

std::optional<Access::Refusal> Access::refuse_page(const Headers& headers) const {
  if (is_our_host(headers.host)) return std::nullopt;
  return Refusal{403, fmt::format("Host: expected {}, the address that the page is served at",
                                  address_.text())};
}

std::optional<Access::Refusal> Access::refuse_query(const Headers& headers) const {
  if (auto refusal = refuse_page(headers)) return refusal;
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view given = headers.authorization;
  if (!given.starts_with(kScheme) || !same_token(token_, given.substr(kScheme.size())))
    return Refusal{401, "wrong token: open the address that the program printed at its start"};
  if (!headers.origin.empty() && headers.origin != "http://" + headers.host)
    return Refusal{403, "Origin: expected that of the page itself"};
  return std::nullopt;
}

std::optional<Access::Refusal> Access::refuse_change(const Headers& headers) const {
  if (auto refusal = refuse_query(headers)) return refusal;
  if (headers.origin.empty()) return Refusal{403, "Origin: expected that of the page, found none"};
  return std::nullopt;
}

}  // namespace lw::web
