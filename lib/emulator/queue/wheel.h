// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "core/huge_pages.h"
#include "core/time.h"
#include "emulator/match/bit_map.h"

namespace lw::emulator {

/// The order of releases that come in no order: a timing wheel of 65536 slots of 4 us, exact
/// within each slot. An item has a `due` time, and is small. O(1) an item whatever waits; what lies
/// beyond the wheel's 268 ms goes round with it. Nothing is allocated after construction.
///
/// A slot's items lie in chunks of some cache lines, in the order in which they came. When its time
/// comes they are put in order in `current_`, from which they leave; an item that is due even
/// earlier is put in there at its place.
template <class Item>
class Wheel {
 public:
  /// `capacity` items at most.
  explicit Wheel(std::size_t capacity);

  static std::uint64_t bytes_needed(std::size_t capacity) noexcept {
    return kSlots * sizeof(Slot) + capacity * (2 * sizeof(Item) + sizeof(Key)) +
           chunks_for(capacity) * sizeof(Chunk);
  }

  /// Only with less than `capacity` items inside; due >= now, which never falls.
  void push(const Item& item, Instant now) noexcept { push(std::span<const Item>(&item, 1), now); }
  /// The same for many.
  void push(std::span<const Item> items, Instant now) noexcept;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// When the first item is due, exactly; nothing is due before. Only when not empty(), as the
  /// three below.
  [[nodiscard]] Instant next() const noexcept { return next_; }
  /// Goes on to the slot of the next item, if it isn't there yet: true where it wasn't.
  bool turn() noexcept {
    if (first_ != current_.size()) return false;
    load(tick_of(next_));
    return true;
  }
  /// The item that is due at next(): equal ones in the order in which they came.
  [[nodiscard]] Item& front() noexcept {
    turn();
    return current_[first_];
  }
  /// Those from front() on that are due by `last`, `most` at most, in order: not all, but one at
  /// least if next() is. Only after turn().
  [[nodiscard]] std::span<Item> due_by(Instant last, std::size_t most) noexcept {
    const auto rest = std::span(current_).subspan(first_);
    const auto items = rest.first(std::min(rest.size(), most));
    return items.first(static_cast<std::size_t>(
        std::ranges::upper_bound(items, last, {}, &Item::due) - items.begin()));
  }
  /// Only what due_by() gave, or front().
  void pop(std::size_t count = 1) noexcept;

  /// The slot that the wheel stands at; slots behind it are given by their distance.
  [[nodiscard]] std::int64_t tick() const noexcept { return tick_; }
  /// A hint that the items of a slot will be wanted.
  void prefetch(std::int64_t tick) const noexcept {
    const Slot& slot = slot_of(tick);
    if (slot.first == kNone) return;
    const auto* chunk = reinterpret_cast<const char*>(&chunks_[slot.first]);
    for (std::size_t line = 0; line < sizeof(Chunk); line += 64) __builtin_prefetch(chunk + line);
  }
  /// A slot's items; some may be a round or more away.
  template <class Visit>
  void for_each_of(std::int64_t tick, Visit visit) const {
    const Slot& slot = slot_of(tick);
    for (std::uint32_t chunk = slot.first; chunk != kNone; chunk = chunks_[chunk].next)
      for (std::uint32_t i = 0; i < used_of(slot, chunk); ++i) visit(chunks_[chunk].items[i]);
  }
  /// Every item, in no order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = first_; i < current_.size(); ++i) visit(current_[i]);
    for (std::uint64_t slot = 0; slot < kSlots; ++slot)
      for_each_of(static_cast<std::int64_t>(slot), visit);
  }

 private:
  // Of time: 4096 ns. With finer slots the last chunks of all that lie within some milliseconds are
  // more than the second cache holds.
  static constexpr int kSlotBits = 12;
  static constexpr std::uint64_t kSlots = std::uint64_t{1} << 16;
  static_assert(kSlots <= BitMap::kBits);
  /// Where in its slot an item is due, and behind that its place among those that came: no two are
  /// equal.
  using Key = std::uint64_t;
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::uint32_t kChunkItems = 7;  // of 16 B: two lines

  struct alignas(64) Chunk {
    std::array<Item, kChunkItems> items;
    std::uint32_t next = kNone;
  };
  /// All that a push has to read: the chunk itself, which is in no near cache, is only written to.
  struct Slot {
    Instant earliest{};  // of its items; of several rounds' the nearest one's
    std::uint32_t first = kNone, last = kNone;
    std::uint32_t used = 0;  // of the last chunk; those before are full
  };

  /// Each slot has one chunk at most that isn't full; one more while a slot is being emptied.
  static std::size_t chunks_for(std::size_t capacity) noexcept {
    return std::min<std::size_t>(capacity, kSlots) + capacity / kChunkItems + 2;
  }
  static std::int64_t tick_of(Instant due) noexcept { return to_ns(due) >> kSlotBits; }
  static std::uint32_t used_of(const Slot& slot, std::uint32_t chunk) noexcept {
    return chunk == slot.last ? slot.used : kChunkItems;
  }
  static std::uint32_t index_of(std::int64_t tick) noexcept {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(tick) % kSlots);
  }
  [[nodiscard]] Slot& slot_of(std::int64_t tick) noexcept { return slots_[index_of(tick)]; }
  [[nodiscard]] const Slot& slot_of(std::int64_t tick) const noexcept {
    return slots_[index_of(tick)];
  }

  void put(Item item) noexcept;
  void put_into_current(Item item) noexcept;
  std::uint32_t new_chunk() noexcept;
  /// Empties the slot of `tick` into `current_`, in order; what is a round too early goes back.
  void load(std::int64_t tick) noexcept;
  void gather(std::int64_t tick) noexcept;
  void put_in_order(std::int64_t tick) noexcept;
  static constexpr std::size_t kFew = 128;
  template <class PlaceInSlot>
  void put_few_in_order(PlaceInSlot place_in_slot) noexcept;
  void find_next() noexcept;

  std::size_t size_ = 0;
  std::int64_t tick_ = 0;  // `current_` is this slot's; all before have left
  Instant next_{};
  HugeVector<Item> current_;  // rising from first_ on
  std::size_t first_ = 0;
  HugeVector<Item> gathered_;  // of a slot, while it is put in order
  HugeVector<Key> keys_;
  HugeVector<Slot> slots_;
  HugeVector<Chunk> chunks_;
  std::uint32_t free_chunk_ = kNone;  // chained by `next`
  BitMap busy_;                       // the slots that hold anything
};

}  // namespace lw::emulator

#include "emulator/queue/wheel_impl.h"
