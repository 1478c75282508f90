// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

#include "core/huge_pages.h"

namespace lw::emulator {

/// A bounded first-in-first-out queue that never allocates after construction. One thread.
template <class Item>
class Ring {
 public:
  /// Holds at least `capacity` items (rounded up to a power of two).
  explicit Ring(std::size_t capacity) : items_(std::bit_ceil(capacity)), mask_(items_.size() - 1) {}

  [[nodiscard]] std::size_t size() const noexcept { return tail_ - head_; }
  [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
  [[nodiscard]] std::size_t room() const noexcept { return items_.size() - size(); }

  /// Only with room().
  void push(const Item& item) noexcept { place() = item; }
  /// Only with room() for all.
  void push(std::span<const Item> items) noexcept {
    while (!items.empty()) {
      const std::span<Item> side_by_side = places(items.size());
      std::ranges::copy(items.first(side_by_side.size()), side_by_side.begin());
      items = items.subspan(side_by_side.size());
    }
  }
  /// Adds an item and returns its slot, which the caller fills.
  [[nodiscard]] Item& place() noexcept { return items_[tail_++ & mask_]; }
  /// The same of the next `count` items, or of those of them that lie side by side. Only with
  /// room().
  [[nodiscard]] std::span<Item> places(std::size_t count) noexcept {
    const std::size_t start = tail_ & mask_;
    count = std::min(count, items_.size() - start);
    tail_ += count;
    return {items_.data() + start, count};
  }
  /// The last `count` places are empty again.
  void withdraw(std::size_t count) noexcept { tail_ -= count; }
  /// Only when not empty(), these four.
  [[nodiscard]] const Item& front() const noexcept { return items_[head_ & mask_]; }
  [[nodiscard]] const Item& back() const noexcept { return items_[(tail_ - 1) & mask_]; }
  [[nodiscard]] Item& last() noexcept { return items_[(tail_ - 1) & mask_]; }
  void pop(std::size_t count = 1) noexcept { head_ += count; }
  /// An empty one begins at its beginning again: the same few places, which are near, are used over
  /// and over, and what is put in next lies side by side.
  void rewind() noexcept {
    if (empty()) head_ = tail_ = 0;
  }

  /// The i-th from the front, i < size().
  [[nodiscard]] const Item& operator[](std::size_t i) const noexcept {
    return items_[(head_ + i) & mask_];
  }
  [[nodiscard]] Item& operator[](std::size_t i) noexcept { return items_[(head_ + i) & mask_]; }
  /// The front items that lie side by side: all, or those before the storage's end.
  [[nodiscard]] std::span<Item> contiguous() noexcept {
    const std::size_t start = head_ & mask_;
    return {items_.data() + start, std::min(size(), items_.size() - start)};
  }

 private:
  HugeArray<Item> items_;
  std::size_t mask_;
  std::size_t head_ = 0, tail_ = 0;  // run freely; masked on use
};

}  // namespace lw::emulator
