// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>

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
  [[nodiscard]] std::size_t capacity() const noexcept { return items_.size(); }

  /// Adds an item. Requires room().
  void push(const Item& item) noexcept { place() = item; }
  /// Adds an item before all others. Requires room().
  void push_front(const Item& item) noexcept { items_[--head_ & mask_] = item; }
  /// Adds items. Requires room() for all.
  void push(std::span<const Item> items) noexcept {
    while (!items.empty()) {
      const std::span<Item> side_by_side = places(items.size());
      std::ranges::copy(items.first(side_by_side.size()), side_by_side.begin());
      items = items.subspan(side_by_side.size());
    }
  }
  /// Adds an item and returns its slot, which the caller fills.
  [[nodiscard]] Item& place() noexcept { return items_[tail_++ & mask_]; }
  /// Adds up to `count` items and returns their slots, which the caller fills: all, or those before
  /// the end of the storage. Requires room().
  [[nodiscard]] std::span<Item> places(std::size_t count) noexcept {
    const std::size_t start = tail_ & mask_;
    count = std::min(count, items_.size() - start);
    tail_ += count;
    return {items_.data() + start, count};
  }
  /// Removes the last `count` items.
  void withdraw(std::size_t count) noexcept { tail_ -= count; }
  /// front(), back(), last() and pop() require !empty().
  [[nodiscard]] const Item& front() const noexcept { return items_[head_ & mask_]; }
  [[nodiscard]] const Item& back() const noexcept { return items_[(tail_ - 1) & mask_]; }
  [[nodiscard]] Item& last() noexcept { return items_[(tail_ - 1) & mask_]; }
  void pop(std::size_t count = 1) noexcept { head_ += count; }
  /// Takes over the items of `old`, with its storage if they have no room here. Requires empty().
  void take_over(Ring& old) noexcept {
    if (old.size() > capacity()) return std::swap(*this, old);
    for (; !old.empty(); old.pop()) push(old.front());
  }
  /// Restarts an empty ring at its first slot. So the same few slots, which are in the cache, are
  /// used repeatedly, and the next items are contiguous.
  void rewind() noexcept {
    if (empty()) head_ = tail_ = 0;
  }

  /// Index in the storage of the i-th item from the front, for data beside it.
  [[nodiscard]] std::size_t slot(std::size_t i) const noexcept { return (head_ + i) & mask_; }
  /// The i-th item from the front, i < size().
  [[nodiscard]] const Item& operator[](std::size_t i) const noexcept {
    return items_[(head_ + i) & mask_];
  }
  [[nodiscard]] Item& operator[](std::size_t i) noexcept { return items_[(head_ + i) & mask_]; }
  /// The contiguous items at the front: all, or those before the end of the storage.
  [[nodiscard]] std::span<Item> contiguous() noexcept {
    const std::size_t start = head_ & mask_;
    return {items_.data() + start, std::min(size(), items_.size() - start)};
  }

 private:
  HugeArray<Item> items_;
  std::size_t mask_;
  std::size_t head_ = 0, tail_ = 0;  // masked when used; their difference is the size
};

}  // namespace lw::emulator
