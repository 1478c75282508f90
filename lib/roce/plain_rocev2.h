// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "wire/bth.h"
#include "wire/ethernet.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"
#include "wire/udp.h"

namespace lw::roce {

constexpr std::uint32_t network_order(std::uint32_t value) noexcept {
  return std::endian::native == std::endian::big ? value : __builtin_bswap32(value);
}

/// UDP length of the shortest RoCEv2 packet: nothing between BTH and ICRC.
constexpr std::size_t kLeastDatagram = sizeof(wire::Udp) + sizeof(wire::Bth) + wire::kIcrcSize;

constexpr std::size_t kPlainIp = sizeof(wire::Ethernet), kPlainUdp = kPlainIp + sizeof(wire::Ipv4),
                      kPlainBth = kPlainUdp + sizeof(wire::Udp),
                      kPlainEnd = kPlainBth + sizeof(wire::Bth);

/// The IPv4 header, in place. Requires is_plain_rocev2().
inline const wire::Ipv4& plain_ipv4(wire::Bytes frame) noexcept {
  return *reinterpret_cast<const wire::Ipv4*>(frame.data() + kPlainIp);
}

/// True for the usual RoCEv2 frame: untagged Ethernet, IPv4 without options, no fragment, UDP to
/// port 4791, BTH captured, IP and UDP length sufficient for an ICRC. A few compares that replace
/// opening the envelope; a frame for which it is false may still be RoCE.
inline bool is_plain_rocev2(wire::Bytes frame) noexcept {
  if (frame.size() < kPlainEnd) return false;
  const std::byte* at = frame.data();
  const auto word = [at](std::size_t offset) {
    std::uint32_t as_it_lies;
    std::memcpy(&as_it_lies, at + offset, sizeof as_it_lies);
    return as_it_lies;
  };
  // Bits of a word that differ from `wanted`, within `mask`.
  const auto differs = [word](std::size_t offset, std::uint32_t mask, std::uint32_t wanted) {
    return (word(offset) ^ network_order(wanted)) & network_order(mask);
  };
  const std::uint32_t other =
      // EtherType, version and header length
      differs(12, 0xffff'ff00, std::uint32_t{wire::kEtherTypeIpv4} << 16 | 0x4500) |
      // more fragments and fragment offset, protocol
      differs(kPlainIp + 6, 0x3fff'00ff, wire::kProtocolUdp);
  // UDP's destination port and length as one number, between the port with the least and with the
  // greatest length.
  constexpr std::uint32_t kLeast = std::uint32_t{wire::kRoceV2Port} << 16 | kLeastDatagram;
  const std::uint32_t port_and_length = network_order(word(kPlainUdp + 2));
  return other == 0 && port_and_length - kLeast <= 0xffff - kLeastDatagram &&
         plain_ipv4(frame).total_length.get() >= sizeof(wire::Ipv4) + kLeastDatagram;
}

/// The UDP header, in place. Requires is_plain_rocev2().
inline const wire::Udp& plain_udp(wire::Bytes frame) noexcept {
  return *reinterpret_cast<const wire::Udp*>(frame.data() + kPlainUdp);
}

/// The BTH, in place. Requires is_plain_rocev2().
inline const wire::Bth& plain_bth(wire::Bytes frame) noexcept {
  return *reinterpret_cast<const wire::Bth*>(frame.data() + kPlainBth);
}

}  // namespace lw::roce
