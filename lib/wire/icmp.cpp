// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icmp.h"

#include <algorithm>
#include <span>

namespace lw::wire {
namespace {

/// RFC 1071; a last odd byte counts as if a zero followed. Messages are below 64 KiB, so 32 bits
/// hold the sum.
std::uint32_t sum_of(Bytes bytes) noexcept {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  }
  return sum;
}

std::uint16_t folded(std::uint64_t sum) noexcept {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

struct ErrorName {
  std::uint8_t type, code;
  std::string_view name;
};

/// IANA's registries of ICMP and ICMPv6 parameters.
constexpr ErrorName kErrors[] = {
    {kIcmpUnreachable, 0, "network unreachable"},
    {kIcmpUnreachable, 1, "host unreachable"},
    {kIcmpUnreachable, 2, "protocol unreachable"},
    {kIcmpUnreachable, 3, "port unreachable"},
    {kIcmpUnreachable, kIcmpTooBigCode, "fragmentation needed, and DF set"},
    {kIcmpUnreachable, 5, "source route failed"},
    {kIcmpUnreachable, 6, "destination network unknown"},
    {kIcmpUnreachable, 7, "destination host unknown"},
    {kIcmpUnreachable, 8, "source host isolated"},
    {kIcmpUnreachable, 9, "network administratively prohibited"},
    {kIcmpUnreachable, 10, "host administratively prohibited"},
    {kIcmpUnreachable, 11, "network unreachable for the type of service"},
    {kIcmpUnreachable, 12, "host unreachable for the type of service"},
    {kIcmpUnreachable, 13, "communication administratively prohibited"},
    {kIcmpUnreachable, 14, "host precedence violation"},
    {kIcmpUnreachable, 15, "precedence cutoff in effect"},
    {kIcmpTimeExceeded, 0, "TTL exceeded in transit"},
    {kIcmpTimeExceeded, 1, "fragment reassembly time exceeded"},
    {kIcmpParameter, 0, "parameter problem"},
    {kIcmpParameter, 1, "missing a required option"},
    {kIcmpParameter, 2, "bad length"},
};
constexpr ErrorName kErrorsOfV6[] = {
    {kIcmpv6Unreachable, 0, "no route to the destination"},
    {kIcmpv6Unreachable, 1, "communication administratively prohibited"},
    {kIcmpv6Unreachable, 2, "beyond the scope of the source address"},
    {kIcmpv6Unreachable, 3, "address unreachable"},
    {kIcmpv6Unreachable, 4, "port unreachable"},
    {kIcmpv6Unreachable, 5, "source address failed the ingress or egress policy"},
    {kIcmpv6Unreachable, 6, "reject route to the destination"},
    {kIcmpv6Unreachable, 7, "error in the source routing header"},
    {kIcmpv6TooBig, 0, "packet too big"},
    {kIcmpv6TimeExceeded, 0, "hop limit exceeded in transit"},
    {kIcmpv6TimeExceeded, 1, "fragment reassembly time exceeded"},
    {kIcmpv6Parameter, 0, "erroneous header field"},
    {kIcmpv6Parameter, 1, "unrecognized next header"},
    {kIcmpv6Parameter, 2, "unrecognized IPv6 option"},
};

std::span<const ErrorName> errors_of(bool v6) noexcept {
  return v6 ? std::span<const ErrorName>(kErrorsOfV6) : std::span<const ErrorName>(kErrors);
}

}  // namespace

bool is_icmp_error(std::uint8_t type, bool v6) noexcept {
  return std::ranges::find(errors_of(v6), type, &ErrorName::type) != errors_of(v6).end();
}

std::string_view icmp_error_name(std::uint8_t type, std::uint8_t code, bool v6) noexcept {
  for (const ErrorName& error : errors_of(v6))
    if (error.type == type && error.code == code) return error.name;
  return {};
}

std::uint16_t icmp_checksum(Bytes message) noexcept { return folded(sum_of(message)); }

std::uint16_t icmpv6_checksum(const Ipv6Address& source, const Ipv6Address& destination,
                              Bytes message) noexcept {
  return folded(std::uint64_t{sum_of(source.bytes)} + sum_of(destination.bytes) + message.size() +
                kProtocolIcmpv6 + sum_of(message));
}

}  // namespace lw::wire
