// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lw::wire {

/// An N-byte number in network byte order: alignment 1, no padding, explicit conversion only.
/// Compilers turn get() and set() of 2, 4 and 8 bytes into one load or store with a byte swap.
template <std::size_t N>
class BigEndian {
 public:
  using Value = std::conditional_t<
      N <= 1, std::uint8_t,
      std::conditional_t<N <= 2, std::uint16_t,
                         std::conditional_t<N <= 4, std::uint32_t, std::uint64_t>>>;

  constexpr BigEndian() = default;
  constexpr explicit BigEndian(Value value) noexcept { set(value); }

  [[nodiscard]] constexpr Value get() const noexcept {
    std::uint64_t value = 0;
    for (const std::byte b : bytes_) value = (value << 8) | std::to_integer<std::uint64_t>(b);
    return static_cast<Value>(value);
  }

  /// Bits of `value` above the field's N bytes are cut off.
  constexpr void set(Value value) noexcept {
    std::uint64_t rest = value;
    for (std::size_t i = N; i-- > 0; rest >>= 8) bytes_[i] = static_cast<std::byte>(rest & 0xff);
  }

  friend constexpr bool operator==(const BigEndian&, const BigEndian&) = default;

 private:
  std::array<std::byte, N> bytes_{};
};

using Be8 = BigEndian<1>;
using Be16 = BigEndian<2>;
using Be24 = BigEndian<3>;
using Be32 = BigEndian<4>;
using Be64 = BigEndian<8>;

}  // namespace lw::wire
