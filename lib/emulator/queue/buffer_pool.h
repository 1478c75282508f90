// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace lw::emulator {

/// The part of a buffer that one class of a queue may fill.
struct BufferShare {
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t reserve_bytes = 0;       // only for this class; taken from no other
  std::uint64_t limit_bytes = kNoLimit;  // most bytes of the class, reserve included
  // Dynamic threshold: besides its reserve, the class may hold at most alpha times the bytes of
  // the pool that are free (Choudhury and Hahne, "Dynamic queue length thresholds", 1998). Above 0;
  // infinite: the class may take all that is free.
  double alpha = std::numeric_limits<double>::infinity();

  /// The bytes that a class with `held` bytes takes from the pool.
  [[nodiscard]] constexpr std::uint64_t of_pool(std::uint64_t held) const noexcept {
    return held - std::min(held, reserve_bytes);
  }
  friend bool operator==(const BufferShare&, const BufferShare&) = default;
};

/// The bytes of a buffer that no class has for itself: the classes of one queue take them, or those
/// of several queues (the ports of a switch). One thread.
class BufferPool {
 public:
  explicit constexpr BufferPool(std::uint64_t size) noexcept : size_(size) {}

  /// True if `bytes` more of a class that holds `held` bytes do not exceed the class's limit, the
  /// free bytes of the pool, and the dynamic threshold.
  [[nodiscard]] constexpr bool has_room(const BufferShare& share, std::uint64_t held,
                                        std::uint64_t bytes) const noexcept {
    const std::uint64_t after = held + bytes, of_pool = share.of_pool(after);
    if (after > share.limit_bytes) return false;
    const std::uint64_t more = of_pool - share.of_pool(held);
    return more == 0 || (more <= free() && !(static_cast<double>(of_pool) >
                                             share.alpha * static_cast<double>(free())));
  }
  /// True if has_room() is true for each of several frames of `bytes` in all, one after another.
  /// May be false although they have room one by one.
  [[nodiscard]] constexpr bool has_room_for_all(const BufferShare& share, std::uint64_t held,
                                                std::uint64_t bytes) const noexcept {
    const std::uint64_t of_pool = share.of_pool(held + bytes);
    const std::uint64_t more = of_pool - share.of_pool(held);
    if (!has_room(share, held, bytes)) return false;
    return more == 0 ||
           !(static_cast<double>(of_pool) > share.alpha * static_cast<double>(free() - more));
  }
  /// Reserves `bytes` for a class that holds `held` bytes. Requires has_room().
  constexpr void reserve(const BufferShare& share, std::uint64_t held,
                         std::uint64_t bytes) noexcept {
    used_ += share.of_pool(held + bytes) - share.of_pool(held);
  }
  /// Frees `bytes` of a class that held `held` bytes.
  constexpr void give_back(const BufferShare& share, std::uint64_t held,
                           std::uint32_t bytes) noexcept {
    used_ -= share.of_pool(held) - share.of_pool(held - bytes);
  }
  /// Counts bytes of classes whose share has changed.
  constexpr void add(std::uint64_t bytes) noexcept { used_ += bytes; }
  constexpr void subtract(std::uint64_t bytes) noexcept { used_ -= bytes; }
  constexpr void resize(std::uint64_t size) noexcept { size_ = size; }

  [[nodiscard]] constexpr std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr std::uint64_t used() const noexcept { return used_; }
  /// 0 also while more is used than the size, after a change.
  [[nodiscard]] constexpr std::uint64_t free() const noexcept {
    return size_ - std::min(size_, used_);
  }

 private:
  std::uint64_t size_, used_ = 0;
};

}  // namespace lw::emulator
