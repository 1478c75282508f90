// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lw::wire {

/// CRC is affine: for a fixed length icrc(m ^ d) = icrc(m) ^ raw(d), where raw has a zero seed and
/// no final inversion. So when some bytes of a packet change, its ICRC changes by a value that
/// depends on nothing but the change and its distance from the end. (DESIGN 2.2)

/// raw(d) of one changed byte: `change` is old ^ new, `distance` how many covered bytes follow it
/// (to the last pad byte; the ICRC itself not counted). O(log distance); for the occasional patch.
std::uint32_t icrc_change(std::uint8_t change, std::size_t distance) noexcept;

/// raw(d) of a field that changes in frame after frame: one table look-up a byte, whatever the
/// packet's length. Tables are 1 KiB a byte and can be shared by all packets in which the field
/// stands at the same distance from the end. Immutable after construction.
class IcrcFieldPatch {
 public:
  /// A field of `width` bytes, 1..8, with `distance` covered bytes behind its last one.
  IcrcFieldPatch(std::size_t width, std::size_t distance);

  /// What to XOR onto the ICRC when the field's big-endian value changes by `change` = old ^ new,
  /// which fits the field. Fields that count from 0 have zeros at the top: they cost nothing.
  [[nodiscard]] std::uint32_t operator()(std::uint64_t change) const noexcept {
    const auto* table = tables_.data();
    std::uint32_t patch = 0;
    // Four at a time: their loads wait neither for each other nor for the question whether to go
    // on.
    do {
      patch ^= table[0][change & 0xff] ^ table[1][change >> 8 & 0xff] ^
               table[2][change >> 16 & 0xff] ^ table[3][change >> 24 & 0xff];
      change >>= 32;
      table += 4;
    } while (change != 0);
    return patch;
  }

  /// The same, faster where the change mostly is below 2^16, as a counter's is from one frame to
  /// the next.
  [[nodiscard]] std::uint32_t of_step(std::uint64_t change) const noexcept {
    if (change > 0xffff) [[unlikely]]
      return (*this)(change);
    return tables_[0][change & 0xff] ^ tables_[1][change >> 8];
  }

  /// The same where the field, or its lower part, was counted on by one: then `change` is its
  /// lowest bits, however many, and one look-up is enough. Only how many bits it has matters.
  [[nodiscard]] std::uint32_t of_increment(std::uint64_t change) const noexcept {
    return increments_[static_cast<std::size_t>(std::popcount(change))];
  }

 private:
  // The field's last byte first. In place: a pointer to them would be a load more a field.
  std::array<std::array<std::uint32_t, 256>, 8> tables_{};
  std::array<std::uint32_t, 65> increments_{};  // by how many of the lowest bits change
};

}  // namespace lw::wire
