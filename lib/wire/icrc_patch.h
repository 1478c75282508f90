// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lw::wire {

/// CRC is affine: for a fixed length icrc(m ^ d) = icrc(m) ^ raw(d), where raw has a zero seed and
/// no final inversion. When some bytes of a packet change, its ICRC changes by a value that depends
/// only on the change and its distance from the end.

/// raw(d) of one changed byte: `change` is old ^ new, `distance` the number of covered bytes behind
/// it (to the last pad byte, without the ICRC). O(log distance); for an occasional patch.
std::uint32_t icrc_change(std::uint8_t change, std::size_t distance) noexcept;

/// raw(d) of a field that changes from frame to frame: one table look-up a byte, independent of the
/// packet's length. Tables take 1 KiB a byte. All packets with the field at the same distance from
/// the end can share them. Immutable after construction.
class IcrcFieldPatch {
 public:
  /// A field of `width` bytes, 1..8, with `distance` covered bytes behind its last one.
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

  /// Like operator(), for a field, or its lower part, that was incremented: `change` then is a run
  /// of lowest bits, and its length selects the one look-up.
  [[nodiscard]] std::uint32_t of_increment(std::uint64_t change) const noexcept {
    return increments_[static_cast<std::size_t>(std::popcount(change))];
  }

 private:
  // The field's last byte first. In place: a pointer would cost one more load a field.
  std::array<std::array<std::uint32_t, 256>, 8> tables_{};
  std::array<std::uint32_t, 65> increments_{};  // by the number of changed bits
};

}  // namespace lw::wire
