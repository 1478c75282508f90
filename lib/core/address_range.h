// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lw {

/// Addresses [first, first + size) of memory that a peer may name. All accesses to the bytes behind
/// addresses or lengths that came from a peer pass through part(). Size <= 2^64 - 1; `first` +
/// `size` may exceed 2^64: no address above 2^64 - 1 is in the range.
class AddressRange {
 public:
  constexpr AddressRange(std::uint64_t first, std::uint64_t size) noexcept
      : first_(first), size_(size) {}

  [[nodiscard]] constexpr std::uint64_t first() const noexcept { return first_; }
  [[nodiscard]] constexpr std::uint64_t size() const noexcept { return size_; }
  /// Returns true if [at, at + length) is inside, without wrap-around; always for length 0.
  [[nodiscard]] constexpr bool holds(std::uint64_t at, std::uint64_t length) const noexcept {
    return length == 0 || (at >= first_ && length <= size_ && at - first_ <= size_ - length);
  }
  /// Returns the bytes [at, at + length) of `memory`, which has size() bytes and is at first().
  /// Empty if they are not all inside.
  [[nodiscard]] constexpr std::span<std::byte> part(std::span<std::byte> memory, std::uint64_t at,
                                                    std::uint64_t length) const noexcept {
    if (length == 0 || memory.size() != size_ || !holds(at, length)) return {};
    return memory.subspan(at - first_, length);
  }

 private:
  std::uint64_t first_, size_;
};

}  // namespace lw
