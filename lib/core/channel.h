// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lw {

/// Items on their way from one thread to another, `kRoom` (a power of two) at once: one puts, one
/// takes, neither waits.
template <class Item, std::size_t kRoom = 64>
class Channel {
 public:
  /// False: the reader is behind, and the item is lost.
  bool put(const Item& item) noexcept {
    const auto at = written_.load(std::memory_order_relaxed);
    if (at - read_.load(std::memory_order_acquire) == kRoom) return false;
    ring_[at % kRoom] = item;
    written_.store(at + 1, std::memory_order_release);
    return true;
  }
  [[nodiscard]] std::optional<Item> take() noexcept {
    const auto at = read_.load(std::memory_order_relaxed);
    if (at == written_.load(std::memory_order_acquire)) return std::nullopt;
    const Item item = ring_[at % kRoom];
    read_.store(at + 1, std::memory_order_release);
    return item;
  }

 private:
  static_assert((kRoom & (kRoom - 1)) == 0);

  std::array<Item, kRoom> ring_{};
  alignas(64) std::atomic<std::uint32_t> written_{0};
  alignas(64) std::atomic<std::uint32_t> read_{0};
};

}  // namespace lw
