// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.h"
#include "path/match/bit_map.h"

namespace lw::path {

/// The order of releases that come in no order: a timing wheel of 65536 slots of 512 ns, exact
/// within each slot. Items are small numbers that stand for frames. O(1) an item whatever waits;
/// what lies beyond the wheel's 33 ms goes round with it. Nothing is allocated after construction.
///
/// A slot's items lie in chunks of a cache line or two, in the order in which they came. When its
/// time comes they are sorted into `current_`, from which they leave; an item that is due even
/// earlier is put in there at its place.
class Wheel {
 public:
  struct Item {
    Instant due;
    std::uint32_t id = 0;
    std::uint32_t order = 0;  // among those that are due together; the wheel's own
  };

  /// `capacity` items at most.
  explicit Wheel(std::size_t capacity);

  static std::uint64_t bytes_needed(std::size_t capacity) noexcept {
    return kSlots * sizeof(Slot) + capacity * sizeof(Item) + chunks_for(capacity) * sizeof(Chunk);
  }

  /// Only with less than `capacity` items inside. `now`: due >= now, which never falls.
  void push(const Item& item, Instant now) noexcept;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// When the first item is due, exactly; nothing is due before. Only when not empty().
  [[nodiscard]] Instant next() const noexcept { return next_; }
  /// The item that is due at next(): equal ones in the order in which they came. Not empty().
  [[nodiscard]] std::uint32_t front() noexcept;
  void pop() noexcept;

  /// The item `ahead` places behind the front, as far as that is known: to fetch it early.
  [[nodiscard]] std::optional<std::uint32_t> coming(std::size_t ahead) const noexcept {
    if (first_ + ahead >= current_.size()) return std::nullopt;
    return current_[first_ + ahead].id;
  }

 private:
  static constexpr int kSlotBits = 9;  // of time: 512 ns
  static constexpr std::uint64_t kSlots = std::uint64_t{1} << 16;
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::size_t kChunkItems = 7;

  struct alignas(64) Chunk {
    std::array<Item, kChunkItems> items;
    std::uint32_t used = 0, next = kNone;
  };
  struct Slot {
    std::uint32_t first = kNone, last = kNone;
  };

  /// Each slot has one chunk at most that isn't full; one more while a slot is being emptied.
  static std::size_t chunks_for(std::size_t capacity) noexcept {
    return std::min<std::size_t>(capacity, kSlots) + capacity / kChunkItems + 2;
  }
  static std::int64_t tick_of(Instant due) noexcept { return to_ns(due) >> kSlotBits; }
  [[nodiscard]] Slot& slot_of(std::int64_t tick) noexcept {
    return slots_[static_cast<std::uint64_t>(tick) % kSlots];
  }

  void put(const Item& item) noexcept;
  void put_into_current(Item item) noexcept;
  std::uint32_t new_chunk() noexcept;
  /// Empties the slot of `tick` into `current_`, sorted; what is a round too early goes back.
  void load(std::int64_t tick) noexcept;
  /// The earliest item of a slot that is due in this tick, if there is one.
  [[nodiscard]] std::optional<Instant> earliest_of(std::int64_t tick) noexcept;
  void find_next() noexcept;

  std::size_t capacity_;
  std::size_t size_ = 0;
  std::int64_t tick_ = 0;  // `current_` is this slot's; all before have left
  Instant next_{};
  std::vector<Item> current_;  // rising from first_ on
  std::size_t first_ = 0;
  std::vector<Slot> slots_;
  std::vector<Chunk> chunks_;
  std::uint32_t free_chunk_ = kNone;  // chained by `next`
  BitMap busy_;                       // the slots that hold anything
};

}  // namespace lw::path
