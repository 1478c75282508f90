// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace lw::wire {

struct MacAddress {
  std::array<std::byte, 6> bytes{};
  friend constexpr auto operator<=>(const MacAddress&, const MacAddress&) = default;
};

struct Ipv4Address {
  std::array<std::byte, 4> bytes{};
  friend constexpr auto operator<=>(const Ipv4Address&, const Ipv4Address&) = default;
};

struct Ipv6Address {
  std::array<std::byte, 16> bytes{};
  friend constexpr auto operator<=>(const Ipv6Address&, const Ipv6Address&) = default;
};

using IpAddress = std::variant<Ipv4Address, Ipv6Address>;

/// The GID of an address: an IPv4 address as ::ffff:a.b.c.d. (IBTA annex A17)
Ipv6Address gid_of(const IpAddress& address) noexcept;
/// The address of a GID.
IpAddress ip_of(const Ipv6Address& gid) noexcept;

/// "02:00:00:00:00:01", hexadecimal, with colons or dashes; nothing for other text.
std::optional<MacAddress> parse_mac(std::string_view text);
/// "192.0.2.1" or "2001:db8::1"; nothing for other text.
std::optional<IpAddress> parse_ip(std::string_view text);

std::string to_string(const MacAddress& address);
std::string to_string(const Ipv4Address& address);
/// RFC 5952: shortest form, lower case.
std::string to_string(const Ipv6Address& address);
std::string to_string(const IpAddress& address);

}  // namespace lw::wire
