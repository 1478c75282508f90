// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "wire/bth.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/udp.h"

namespace lw::roce {

constexpr std::uint32_t network_order(std::uint32_t value) noexcept {
  return std::endian::native == std::endian::big ? value : __builtin_bswap32(value);
}
constexpr std::uint16_t network_order(std::uint16_t value) noexcept {
  return std::endian::native == std::endian::big ? value : __builtin_bswap16(value);
}

constexpr std::size_t kPlainIp = sizeof(wire::Ethernet), kPlainUdp = kPlainIp + sizeof(wire::Ipv4),
                      kPlainBth = kPlainUdp + sizeof(wire::Udp),
                      kPlainEnd = kPlainBth + sizeof(wire::Bth);

/// True for RoCEv2 as nearly all of it looks: an untagged Ethernet frame, IPv4 without options, not
/// a fragment, UDP to port 4791, long enough for its BTH. What opening the envelope would find, for
/// a few compares; false says nothing.
inline bool is_plain_rocev2(wire::Bytes frame) noexcept {
  if (frame.size() < kPlainEnd) return false;
  // Where bytes must be what they must be: 0xff each, in some of a word; read as they lie.
  const std::byte* at = frame.data();
  const auto differs = [at]<class Word>(std::size_t offset, Word mask, Word wanted) {
    Word found;
    std::memcpy(&found, at + offset, sizeof found);
    return (found ^ network_order(wanted)) & network_order(mask);
  };
  const std::uint64_t other =
      // EtherType, version and header length
      differs(12, std::uint32_t{0xffff'ff00}, std::uint32_t{wire::kEtherTypeIpv4} << 16 | 0x4500) |
      // more fragments and fragment offset, protocol
      differs(kPlainIp + 6, std::uint32_t{0x3fff'00ff}, std::uint32_t{wire::kProtocolUdp}) |
      differs(kPlainUdp + 2, std::uint16_t{0xffff}, std::uint16_t{wire::kRoceV2Port});
  return other == 0 && std::to_integer<unsigned>(at[kPlainIp + 2]) * 256 +
                               std::to_integer<unsigned>(at[kPlainIp + 3]) >=
                           kPlainEnd - kPlainIp;
}

/// In place, of a frame that is_plain_rocev2().
inline const wire::Ipv4& plain_ipv4(wire::Bytes frame) noexcept {
  return *reinterpret_cast<const wire::Ipv4*>(frame.data() + kPlainIp);
}
inline const wire::Bth& plain_bth(wire::Bytes frame) noexcept {
  return *reinterpret_cast<const wire::Bth*>(frame.data() + kPlainBth);
}

}  // namespace lw::roce
