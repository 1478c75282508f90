// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "wire/view.h"

namespace lw::wire {

/// Ethernet's CRC-32 (reflected, inverted at both ends) of `bytes`. `so_far` is the CRC of the
/// bytes before them, or 0: crc32(crc32(0, a), b) = crc32(0, ab). The FCS of a frame is its CRC-32,
/// least significant byte first, as is the ICRC.
std::uint32_t crc32(std::uint32_t so_far, Bytes bytes) noexcept;

inline constexpr std::size_t kIcrcSize = 4;

/// Network layer below the BTH. It determines which bytes the ICRC counts as all ones.
enum class Encapsulation : std::uint8_t { ipv4, ipv6, grh };

/// The invariant CRC of a whole RoCE packet: CRC-32 with Ethernet's polynomial over eight bytes
/// of 0xff (the absent LRH) and the packet, in which the fields that a router may change count as
/// all ones: IPv4 ToS, TTL and checksum; IPv6 and GRH traffic class, flow label and hop limit; the
/// UDP checksum; BTH byte 4. (IBTA vol. 1, 7.8 and annexes A16, A17)
///
/// `packet` goes from the network header to the last pad byte. `bth_offset` counts from its start,
/// with IPv4 options and IPv6 extension headers, which are covered unmasked; bth_offset + 12 <=
/// packet.size(). Over UDP, the UDP header is at bth_offset - 8.
std::uint32_t icrc(Encapsulation encapsulation, Bytes packet, std::size_t bth_offset) noexcept;

/// An ICRC is on the wire least significant byte first.
std::uint32_t load_icrc(Bytes four_bytes) noexcept;
inline void store_icrc(MutableBytes four_bytes, std::uint32_t value) noexcept {
  for (std::size_t i = 0; i < kIcrcSize; ++i, value >>= 8) {
    four_bytes[i] = static_cast<std::byte>(value & 0xff);
  }
}

}  // namespace lw::wire
