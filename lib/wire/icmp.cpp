// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icmp.h"

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

}  // namespace

std::uint16_t icmp_checksum(Bytes message) noexcept { return folded(sum_of(message)); }

std::uint16_t icmpv6_checksum(const Ipv6Address& source, const Ipv6Address& destination,
                              Bytes message) noexcept {
  return folded(std::uint64_t{sum_of(source.bytes)} + sum_of(destination.bytes) + message.size() +
                kProtocolIcmpv6 + sum_of(message));
}

}  // namespace lw::wire
