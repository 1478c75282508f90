// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <vector>

namespace lw::transport {

/// A first-in-first-out queue on one array that doubles when it is full, so that what a run needs
/// at most is allocated once. Items are addressed from the front. One thread.
template <class Item>
class Fifo {
 public:
  /// Room for `capacity` items (rounded up to a power of two) before the first growth.
  explicit Fifo(std::size_t capacity = 8)
      : items_(std::bit_ceil(capacity)), mask_(items_.size() - 1) {}

  [[nodiscard]] std::size_t size() const noexcept { return tail_ - head_; }
  [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }

  void push(const Item& item) { add() = item; }
  /// A new last item, to be filled in place: it holds what its place held before. Items of 80 B
  /// and more are worth it.
  Item& add() {
    Item& item = spare();
    commit();
    return item;
  }
  /// The place behind the last item, which becomes one by commit(); until then it may be filled
  /// and left, and any other call may overwrite it.
  Item& spare() {
    if (size() > mask_) [[unlikely]]
      grow();
    return items_[tail_ & mask_];
  }
  void commit() noexcept { ++tail_; }
  /// Only when not empty(), all three.
  [[nodiscard]] Item& front() noexcept { return items_[head_ & mask_]; }
  [[nodiscard]] const Item& front() const noexcept { return items_[head_ & mask_]; }
  [[nodiscard]] Item& back() noexcept { return items_[(tail_ - 1) & mask_]; }
  void pop() noexcept {
    assert(!empty());
    ++head_;
  }
  void clear() noexcept { head_ = tail_; }

  /// The i-th from the front, i < size().
  [[nodiscard]] Item& operator[](std::size_t i) noexcept { return items_[(head_ + i) & mask_]; }
  [[nodiscard]] const Item& operator[](std::size_t i) const noexcept {
    return items_[(head_ + i) & mask_];
  }

 private:
  /// Out of line: where it was inlined, registers were kept for it that a simulated packet paid for
  /// with 18 instructions.
  [[gnu::noinline, gnu::cold]] void grow() {
    std::vector<Item> larger(2 * items_.size());
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) larger[i] = (*this)[i];
    items_.swap(larger);
    mask_ = items_.size() - 1;
    head_ = 0;
    tail_ = count;
  }

  std::vector<Item> items_;
  std::size_t mask_;                 // of an index: a vector's size is a division by the item's
  std::size_t head_ = 0, tail_ = 0;  // run freely; masked on use
};

}  // namespace lw::transport
