// SPDX-License-Identifier: BSD-3-Clause
#include "wire/address.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>

namespace lw::wire {
namespace {

constexpr std::size_t kMapped = 12;  // bytes of ::ffff:0:0/96

std::optional<std::byte> hex_byte(std::string_view digits) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + 2, value, 16);
  if (error != std::errc{} || end != digits.data() + 2) return std::nullopt;
  return static_cast<std::byte>(value);
}

template <class Address>
std::string presentation(int family, const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family, address.bytes.data(), text.data(), text.size());
  return text.data();
}

}  // namespace

Ipv6Address gid_of(const IpAddress& address) noexcept {
  if (const auto* v6 = std::get_if<Ipv6Address>(&address)) return *v6;
  Ipv6Address gid;
  gid.bytes[10] = gid.bytes[11] = std::byte{0xff};
  std::ranges::copy(std::get<Ipv4Address>(address).bytes, gid.bytes.begin() + kMapped);
  return gid;
}

IpAddress ip_of(const Ipv6Address& gid) noexcept {
  const Ipv6Address prefix = gid_of(Ipv4Address{});
  if (!std::equal(prefix.bytes.begin(), prefix.bytes.begin() + kMapped, gid.bytes.begin()))
    return gid;
  Ipv4Address address;
  std::copy(gid.bytes.begin() + kMapped, gid.bytes.end(), address.bytes.begin());
  return address;
}

std::optional<MacAddress> parse_mac(std::string_view text) {
  constexpr std::size_t kLength = 17;
  if (text.size() != kLength) return std::nullopt;
  MacAddress address;
  for (std::size_t i = 0; i < address.bytes.size(); ++i) {
    const auto value = hex_byte(text.substr(3 * i, 2));
    if (!value) return std::nullopt;
    if (i > 0 && text[3 * i - 1] != ':' && text[3 * i - 1] != '-') return std::nullopt;
    address.bytes[i] = *value;
  }
  return address;
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  const std::string terminated(text);
  Ipv4Address v4;
  if (inet_pton(AF_INET, terminated.c_str(), v4.bytes.data()) == 1) return v4;
  Ipv6Address v6;
  if (inet_pton(AF_INET6, terminated.c_str(), v6.bytes.data()) == 1) return v6;
  return std::nullopt;
}

std::string to_string(const MacAddress& address) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : address.bytes) {
    if (!text.empty()) text += ':';
    text += kDigits[std::to_integer<std::size_t>(b >> 4)];
    text += kDigits[std::to_integer<std::size_t>(b & std::byte{15})];
  }
  return text;
}

std::string to_string(const Ipv4Address& address) { return presentation(AF_INET, address); }
std::string to_string(const Ipv6Address& address) { return presentation(AF_INET6, address); }
std::string to_string(const IpAddress& address) {
  return std::visit([](const auto& a) { return to_string(a); }, address);
}

}  // namespace lw::wire
