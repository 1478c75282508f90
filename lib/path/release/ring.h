// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

namespace lw::path {

/// A bounded first-in-first-out queue that never allocates after construction. One thread.
template <class Item>
class Ring {
 public:
  /// Holds at least `capacity` items (rounded up to a power of two).
  explicit Ring(std::size_t capacity) : items_(std::bit_ceil(capacity)) {}

  [[nodiscard]] std::size_t size() const noexcept { return tail_ - head_; }
  [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
  [[nodiscard]] std::size_t room() const noexcept { return items_.size() - size(); }

  /// Only with room().
  void push(const Item& item) noexcept { items_[tail_++ & mask()] = item; }
  /// Only when not empty(), these three.
  [[nodiscard]] const Item& front() const noexcept { return items_[head_ & mask()]; }
  [[nodiscard]] const Item& back() const noexcept { return items_[(tail_ - 1) & mask()]; }
  void pop(std::size_t count = 1) noexcept { head_ += count; }

  /// The i-th from the front, i < size().
  [[nodiscard]] const Item& operator[](std::size_t i) const noexcept {
    return items_[(head_ + i) & mask()];
  }
  /// The front items that lie side by side: all, or those before the storage's end.
  [[nodiscard]] std::span<Item> contiguous() noexcept {
    const std::size_t start = head_ & mask();
    return {items_.data() + start, std::min(size(), items_.size() - start)};
  }

 private:
  [[nodiscard]] std::size_t mask() const noexcept { return items_.size() - 1; }

  std::vector<Item> items_;
  std::size_t head_ = 0, tail_ = 0;  // run freely; masked on use
};

}  // namespace lw::path
