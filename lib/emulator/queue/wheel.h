// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/huge_pages.h"
#include "core/time.h"

namespace lw::emulator {

/// 65536 bits in which the next set bit is found in constant time. Two summary levels have one bit
/// for each 64-bit word of the level below, which is set if the word is not 0.
class BitMap {
 public:
  static constexpr std::uint32_t kBits = 1U << 16;

  void set(std::uint32_t bit) noexcept {
    words_->leaves[bit >> 6] |= one(bit);
    words_->middle[bit >> 12] |= one(bit >> 6);
    words_->top |= one(bit >> 12);
  }
  void clear(std::uint32_t bit) noexcept {
    if ((words_->leaves[bit >> 6] &= ~one(bit)) != 0) return;
    if ((words_->middle[bit >> 12] &= ~one(bit >> 6)) != 0) return;
    words_->top &= ~one(bit >> 12);
  }
  /// The first set bit at or behind `from`; kBits where there is none.
  [[nodiscard]] std::uint32_t next(std::uint32_t from) const noexcept {
    if (from >= kBits) return kBits;
    if (const auto word = words_->leaves[from >> 6] >> (from & 63)) return from + first(word);
    const std::uint32_t leaf = next_in(words_->middle, (from >> 6) + 1);
    return leaf == kBits >> 6 ? kBits : (leaf << 6) + first(words_->leaves[leaf]);
  }

 private:
  struct Words {
    std::array<std::uint64_t, (kBits >> 6)> leaves{};
    std::array<std::uint64_t, (kBits >> 12)> middle{};
    std::uint64_t top = 0;
  };

  static constexpr std::uint64_t one(std::uint32_t bit) noexcept {
    return std::uint64_t{1} << (bit & 63);
  }
  static std::uint32_t first(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(std::countr_zero(word));
  }
  /// The first leaf at or behind `from` with a bit set; one past the last where there is none.
  [[nodiscard]] std::uint32_t next_in(const std::array<std::uint64_t, (kBits >> 12)>& middle,
                                      std::uint32_t from) const noexcept {
    constexpr std::uint32_t kLeaves = kBits >> 6;
    if (from >= kLeaves) return kLeaves;
    if (const auto word = middle[from >> 6] >> (from & 63)) return from + first(word);
    const std::uint32_t row = (from >> 6) + 1;
    if (row >= middle.size()) return kLeaves;
    const std::uint64_t above = words_->top >> row << row;
    if (above == 0) return kLeaves;
    return (first(above) << 6) + first(middle[first(above)]);
  }

  std::unique_ptr<Words> words_ = std::make_unique<Words>();
};

/// The order of releases that come in no order: a timing wheel of 65536 slots of 4 us, exact
/// within each slot. An item has a `due` time, and is small. O(1) an item whatever waits. Items
/// beyond the wheel's 268 ms wait in a heap, which takes O(log n) each, until they are within it.
/// Nothing is allocated after construction.
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
    return kSlots * sizeof(Slot) + capacity * (2 * sizeof(Item) + sizeof(Key) + sizeof(Far)) +
           chunks_for(capacity) * sizeof(Chunk);
  }

  /// Only with less than `capacity` items inside; due >= now, which never falls.
  void push(const Item& item, Instant now) noexcept { push(std::span<const Item>(&item, 1), now); }
  /// The same for many.
  void push(std::span<const Item> items, Instant now) noexcept;

  /// Takes over the items of `old`, in their order. Requires empty(), and room for all.
  void take_over(Wheel& old, Instant now) noexcept;

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
  /// A slot's items.
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
    for (const Far& far : far_) visit(far.item);
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
    Instant earliest{};  // of its items
    std::uint32_t first = kNone, last = kNone;
    std::uint32_t used = 0;  // of the last chunk; those before are full
  };

  /// An item beyond the wheel, and its place among those that came: equal ones keep their order.
  struct Far {
    Item item;
    std::uint64_t number = 0;
    /// Whether it leaves after `other`: the heap has the first on top.
    bool operator<(const Far& other) const noexcept {
      return item.due != other.item.due ? item.due > other.item.due : number > other.number;
    }
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
  void put_far(Item item, Instant now) noexcept;
  void put_into_current(Item item) noexcept;
  /// `tick_` becomes `tick`: items of the heap that are within the wheel then go into it. No slot
  /// has items of two rounds.
  void move_to(std::int64_t tick) noexcept;
  std::uint32_t new_chunk() noexcept;
  /// Empties the slot of `tick` into `current_`, in order.
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
  HugeVector<Far> far_;               // a heap: due at tick_ + kSlots or later
  std::uint64_t far_number_ = 0;
};

template <class Item>
Wheel<Item>::Wheel(std::size_t capacity) : slots_(kSlots), chunks_(chunks_for(capacity)) {
  current_.reserve(capacity + 1);
  gathered_.reserve(capacity);
  keys_.reserve(capacity);
  far_.reserve(capacity);
  for (std::size_t i = chunks_.size(); i-- > 0;) {
    chunks_[i].next = free_chunk_;
    free_chunk_ = static_cast<std::uint32_t>(i);
  }
}

template <class Item>
void Wheel<Item>::push(std::span<const Item> items, Instant now) noexcept {
  if (items.empty()) return;
  if (size_ == 0) {
    tick_ = tick_of(now);
    next_ = items.front().due;
  }
  Instant next = next_;
  for (const Item& item : items) {
    next = std::min(next, item.due);
    // How many slots it is away; less than 1 is more than all.
    const auto away = static_cast<std::uint64_t>(tick_of(item.due) - tick_ - 1);
    if (away < kSlots - 1) [[likely]] {
      put(item);
    } else if (tick_of(item.due) <= tick_) {
      put_into_current(item);
    } else {
      put_far(item, now);
    }
  }
  next_ = next;
  size_ += items.size();
}

template <class Item>
void Wheel<Item>::take_over(Wheel& old, Instant now) noexcept {
  while (!old.empty()) {
    old.turn();
    const auto items = std::span<const Item>(old.current_).subspan(old.first_);
    push(items, now);
    old.pop(items.size());
  }
}

template <class Item>
void Wheel<Item>::pop(std::size_t count) noexcept {
  turn();
  size_ -= count;
  first_ += count;
  if (first_ < current_.size()) {
    next_ = current_[first_].due;
    return;
  }
  current_.clear();
  first_ = 0;
  if (size_ > 0) find_next();
}

template <class Item>
void Wheel<Item>::put(Item item) noexcept {
  const std::int64_t tick = tick_of(item.due);
  Slot& slot = slot_of(tick);
  if (slot.first == kNone) {
    slot = {item.due, new_chunk(), 0, 0};
    slot.last = slot.first;
    busy_.set(index_of(tick));
  } else if (slot.used == kChunkItems) {
    const std::uint32_t chunk = new_chunk();
    chunks_[slot.last].next = chunk;
    slot.last = chunk;
    slot.used = 0;
  }
  slot.earliest = std::min(slot.earliest, item.due);
  chunks_[slot.last].items[slot.used++] = item;
}

/// While nothing is due the wheel stands still: it first goes on as far as it can.
template <class Item>
void Wheel<Item>::put_far(Item item, Instant now) noexcept {
  const std::int64_t tick = tick_of(std::min(now, next_)) - 1;
  if (first_ == current_.size() && tick > tick_) move_to(tick);
  const std::int64_t due = tick_of(item.due);
  if (due - tick_ < static_cast<std::int64_t>(kSlots)) return put(item);
  far_.push_back({item, far_number_++});
  std::ranges::push_heap(far_, std::less<>());
}

template <class Item>
void Wheel<Item>::move_to(std::int64_t tick) noexcept {
  tick_ = tick;
  while (!far_.empty() &&
         tick_of(far_.front().item.due) - tick < static_cast<std::int64_t>(kSlots)) {
    put(far_.front().item);
    std::ranges::pop_heap(far_, std::less<>());
    far_.pop_back();
  }
}

template <class Item>
std::uint32_t Wheel<Item>::new_chunk() noexcept {
  const std::uint32_t chunk = free_chunk_;
  free_chunk_ = chunks_[chunk].next;
  chunks_[chunk].next = kNone;
  return chunk;
}

/// Among equal ones it is the last: it came last.
template <class Item>
void Wheel<Item>::put_into_current(Item item) noexcept {
  if (current_.size() == current_.capacity()) {
    current_.erase(current_.begin(), current_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  const auto begin = current_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto place =
      std::upper_bound(begin, current_.end(), item.due,
                       [](Instant due, const Item& other) { return due < other.due; });
  current_.insert(place, item);
}

template <class Item>
void Wheel<Item>::load(std::int64_t tick) noexcept {
  move_to(tick);
  gather(tick);
  put_in_order(tick);
}

template <class Item>
void Wheel<Item>::gather(std::int64_t tick) noexcept {
  const Slot slot = slot_of(tick);
  slot_of(tick) = {};
  busy_.clear(index_of(tick));
  gathered_.clear();
  for (std::uint32_t chunk = slot.first; chunk != kNone;) {
    Chunk& full = chunks_[chunk];
    const std::uint32_t used = used_of(slot, chunk);
    gathered_.insert(gathered_.end(), full.items.begin(), full.items.begin() + used);
    const std::uint32_t next = full.next;
    full.next = free_chunk_;
    free_chunk_ = chunk;
    chunk = next;
  }
}

template <class Item>
void Wheel<Item>::put_in_order(std::int64_t tick) noexcept {
  current_.resize(gathered_.size());
  const auto place_in_slot = [&](std::size_t i) {
    return to_ns(gathered_[i].due) - (tick << kSlotBits);
  };
  if (std::ranges::is_sorted(gathered_, {}, &Item::due)) {
    std::ranges::copy(gathered_, current_.begin());
  } else if (gathered_.size() <= kFew) {
    put_few_in_order(place_in_slot);
  } else {
    keys_.clear();
    for (std::size_t i = 0; i < gathered_.size(); ++i)
      keys_.push_back(static_cast<Key>(place_in_slot(i)) << 32 | i);
    std::ranges::sort(keys_);
    for (std::size_t i = 0; i < keys_.size(); ++i)
      current_[i] = gathered_[static_cast<std::uint32_t>(keys_[i])];
  }
}

/// Each one's place is how many come before it, counted without a branch and some at a time: a sort
/// by comparison guesses wrong every other time.
template <class Item>
template <class PlaceInSlot>
void Wheel<Item>::put_few_in_order(PlaceInSlot place_in_slot) noexcept {
  constexpr std::size_t kTogether = 8;
  std::array<std::int32_t, kFew> keys;
  const std::size_t count = gathered_.size();
  for (std::size_t i = 0; i < count; ++i)
    keys[i] = static_cast<std::int32_t>(place_in_slot(i)) * static_cast<int>(kFew) +
              static_cast<std::int32_t>(i);
  const std::size_t padded = (count + kTogether - 1) / kTogether * kTogether;
  std::fill(keys.begin() + static_cast<std::ptrdiff_t>(count),
            keys.begin() + static_cast<std::ptrdiff_t>(padded), INT32_MAX);
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t before = 0;
    for (std::size_t k = 0; k < padded; ++k) before += keys[k] < keys[i] ? 1 : 0;
    current_[static_cast<std::size_t>(before)] = gathered_[i];
  }
}

/// The first busy slot behind the present one in the order of time; the heap's front where no slot
/// is busy.
template <class Item>
void Wheel<Item>::find_next() noexcept {
  std::uint32_t slot = busy_.next(index_of(tick_ + 1));
  if (slot == BitMap::kBits) slot = busy_.next(0);
  next_ = slot == BitMap::kBits ? far_.front().item.due : slots_[slot].earliest;
}

}  // namespace lw::emulator
