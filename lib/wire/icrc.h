// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstddef>
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

/// CRC is affine: for a fixed length icrc(m ^ d) = icrc(m) ^ raw(d), where raw has a zero seed and
/// no final inversion. When some bytes of a packet change, its ICRC changes by a value that depends
/// only on the change and its distance from the end.

/// raw(d) of one changed byte: `change` is old ^ new, `distance` the number of covered bytes after
/// it (to the last pad byte, without the ICRC). O(log distance); for an occasional patch.
std::uint32_t icrc_change(std::uint8_t change, std::size_t distance) noexcept;

/// raw(d) of a field that changes from frame to frame: one table look-up per byte, independent of
/// the packet's length. Tables take 1 KiB per byte. All packets with the field at the same distance
/// from the end can share them. Immutable after construction.
class IcrcFieldPatch {
 public:
  /// A field of `width` bytes, 1..8, with `distance` covered bytes after its last one.
  IcrcFieldPatch(std::size_t width, std::size_t distance);

  /// The value to XOR onto the ICRC when the field's big-endian value changes by `change` = old ^
  /// new, which fits the field. Fields that count from 0 have zeros at the top: they cost nothing.
  [[nodiscard]] std::uint32_t operator()(std::uint64_t change) const noexcept {
    const auto* table = tables_.data();
    std::uint32_t patch = 0;
    // Four at a time: their loads depend neither on each other nor on the loop's condition.
    do {
      patch ^= table[0][change & 0xff] ^ table[1][change >> 8 & 0xff] ^
               table[2][change >> 16 & 0xff] ^ table[3][change >> 24 & 0xff];
      change >>= 32;
      table += 4;
    } while (change != 0);
    return patch;
  }

  /// Like operator(), faster where most changes are below 2^16, as a counter's are from one frame
  /// to the next.
  [[nodiscard]] std::uint32_t of_step(std::uint64_t change) const noexcept {
    if (change > 0xffff) [[unlikely]]
      return (*this)(change);
    return tables_[0][change & 0xff] ^ tables_[1][change >> 8];
  }

  /// Like operator(), for a field, or its lower part, that was incremented: then only lowest bits
  /// of `change` are set, and their number selects the one look-up.
  [[nodiscard]] std::uint32_t of_increment(std::uint64_t change) const noexcept {
    return increments_[static_cast<std::size_t>(std::popcount(change))];
  }

 private:
  // The field's last byte first. Stored in the object: a pointer would cost one more load per
  // field.
  std::array<std::array<std::uint32_t, 256>, 8> tables_{};
  std::array<std::uint32_t, 65> increments_{};  // by the number of changed bits
};

}  // namespace lw::wire
