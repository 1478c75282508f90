// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lw {

/// Queue for one producer thread and one consumer thread. Holds `kCapacity` items, a power of two.
template <class Item, std::size_t kCapacity = 64>
class SpscQueue {
 public:
  /// Producer. False: the queue is full and the item is discarded.
  bool push(const Item& item) noexcept {
    const auto at = written_.load(std::memory_order_relaxed);
    if (at - read_.load(std::memory_order_acquire) == kCapacity) return false;
    ring_[at % kCapacity] = item;
    written_.store(at + 1, std::memory_order_release);
    return true;
  }
  /// Consumer. Returns the oldest item, nothing when the queue is empty.
  [[nodiscard]] std::optional<Item> pop() noexcept {
    const auto at = read_.load(std::memory_order_relaxed);
    if (at == written_.load(std::memory_order_acquire)) return std::nullopt;
    const Item item = ring_[at % kCapacity];
    read_.store(at + 1, std::memory_order_release);
    return item;
  }

 private:
  static_assert((kCapacity & (kCapacity - 1)) == 0);

  std::array<Item, kCapacity> ring_{};
  alignas(64) std::atomic<std::uint32_t> written_{0};
  alignas(64) std::atomic<std::uint32_t> read_{0};
};

}  // namespace lw
