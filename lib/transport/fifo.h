// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lw::transport {

/// FIFO queue on one array that doubles when it is full. Index 0 is the front. One thread.
///
/// The array begins with one place, at the first item: a queue that never has two items uses the
/// same cache lines for all of them, and one that has none uses no memory. A QP has eight queues,
/// and a simulation thousands of QPs.
template <class Item>
class Fifo {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return tail_ - head_; }
  [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }

  void push(const Item& item) { add() = item; }
  /// Adds an item at the end and returns it, with old content to be overwritten. For items of 80 B
  /// or more.
  Item& add() {
    Item& item = spare();
    commit();
    return item;
  }
  /// Returns the free slot after the last item. commit() makes it the last item; until then any
  /// other call may overwrite it.
  Item& spare() {
    if (size() == mask_ + 1) [[unlikely]]
      grow();
    return items_[tail_ & mask_];
  }
  void commit() noexcept { ++tail_; }
  /// front(), back() and pop() require !empty().
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
  /// Out of line: inlined, it cost a simulated packet 18 instructions for saved registers.
  [[gnu::noinline, gnu::cold]] void grow() {
    const std::size_t count = size(), capacity = std::max<std::size_t>(1, 2 * (mask_ + 1));
    auto larger = std::make_unique<Item[]>(capacity);
    for (std::size_t i = 0; i < count; ++i) larger[i] = (*this)[i];
    items_ = std::move(larger);
    mask_ = capacity - 1;
    head_ = 0;
    tail_ = count;
  }

  std::unique_ptr<Item[]> items_;
  std::size_t mask_ = ~std::size_t{0};  // of indexes: one less than the places; without any, 0 - 1
  std::size_t head_ = 0, tail_ = 0;     // not wrapped; masked on use
};

/// A bitmap over a window of numbers that only moves upwards, for selective repeat. Bits before the
/// window are 0. The array doubles when the window needs it. One thread.
class SlidingBits {
 public:
  [[nodiscard]] bool test(std::uint64_t number) const noexcept {
    return number >= base_ && number < end() && (word(number) >> (number % kBits) & 1) != 0;
  }
  /// `number` is not before the window.
  void set(std::uint64_t number) {
    assert(number >= base_);
    while (number >= end()) grow();
    word(number) |= std::uint64_t{1} << number % kBits;
  }
  /// Moves the window's start up to `base`.
  void slide(std::uint64_t base) noexcept {
    if (base <= base_) return;
    const std::uint64_t cleared = base < end() ? base : end();
    for (std::uint64_t n = base_ - base_ % kBits; n + kBits <= cleared; n += kBits) word(n) = 0;
    base_ = base;
    if (base == cleared && base < end()) word(base) &= ~std::uint64_t{0} << base % kBits;
  }
  /// Clears all bits and restarts the window at `base`.
  void clear(std::uint64_t base) noexcept {
    std::ranges::fill(words_, 0);
    base_ = base;
  }
  [[nodiscard]] std::uint64_t base() const noexcept { return base_; }

 private:
  static constexpr std::uint64_t kBits = 64;

  /// The first number without a place.
  [[nodiscard]] std::uint64_t end() const noexcept {
    return base_ - base_ % kBits + words_.size() * kBits;
  }
  [[nodiscard]] std::uint64_t& word(std::uint64_t number) noexcept {
    return words_[number / kBits & (words_.size() - 1)];
  }
  [[nodiscard]] std::uint64_t word(std::uint64_t number) const noexcept {
    return words_[number / kBits & (words_.size() - 1)];
  }
  [[gnu::noinline, gnu::cold]] void grow() {
    std::vector<std::uint64_t> larger(2 * words_.size());
    for (std::uint64_t n = base_ - base_ % kBits; n < end(); n += kBits)
      larger[n / kBits & (larger.size() - 1)] = word(n);
    words_.swap(larger);
  }

  std::uint64_t base_ = 0;
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(1);
};

}  // namespace lw::transport
