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

/// Of the shortest RoCEv2 packet, by UDP's length: nothing between its BTH and its ICRC.
constexpr std::size_t kLeastDatagram = sizeof(wire::Udp) + sizeof(wire::Bth) + wire::kIcrcSize;

constexpr std::size_t kPlainIp = sizeof(wire::Ethernet), kPlainUdp = kPlainIp + sizeof(wire::Ipv4),
                      kPlainBth = kPlainUdp + sizeof(wire::Udp),
                      kPlainEnd = kPlainBth + sizeof(wire::Bth);

/// In place, of a frame that is_plain_rocev2().
inline const wire::Ipv4& plain_ipv4(wire::Bytes frame) noexcept {
  return *reinterpret_cast<const wire::Ipv4*>(frame.data() + kPlainIp);
}

/// True for RoCEv2 as nearly all of it looks: an untagged Ethernet frame, IPv4 without options, not
/// a fragment, UDP to port 4791, its BTH here, by the IP and the UDP length with room for an ICRC.
/// What opening the envelope would find, for a few compares; false says nothing.
inline bool is_plain_rocev2(wire::Bytes frame) noexcept {
  if (frame.size() < kPlainEnd) return false;
  const std::byte* at = frame.data();
  const auto word = [at](std::size_t offset) {
    std::uint32_t as_it_lies;
    std::memcpy(&as_it_lies, at + offset, sizeof as_it_lies);
    return as_it_lies;
  };
  // Where bytes must be what they must be: 0xff each, in some of a word.
  const auto differs = [word](std::size_t offset, std::uint32_t mask, std::uint32_t wanted) {
    return (word(offset) ^ network_order(wanted)) & network_order(mask);
  };
  const std::uint32_t other =
      // EtherType, version and header length
      differs(12, 0xffff'ff00, std::uint32_t{wire::kEtherTypeIpv4} << 16 | 0x4500) |
      // more fragments and fragment offset, protocol
      differs(kPlainIp + 6, 0x3fff'00ff, wire::kProtocolUdp);
  // UDP's port and the length behind it, as one number: from the port with the least length on to
  // the port with the greatest.
  constexpr std::uint32_t kLeast = std::uint32_t{wire::kRoceV2Port} << 16 | kLeastDatagram;
  const std::uint32_t port_and_length = network_order(word(kPlainUdp + 2));
  return other == 0 && port_and_length - kLeast <= 0xffff - kLeastDatagram &&
         plain_ipv4(frame).total_length.get() >= sizeof(wire::Ipv4) + kLeastDatagram;
}

/// In place, of a frame that is_plain_rocev2().
inline const wire::Bth& plain_bth(wire::Bytes frame) noexcept {
  return *reinterpret_cast<const wire::Bth*>(frame.data() + kPlainBth);
}

}  // namespace lw::roce
