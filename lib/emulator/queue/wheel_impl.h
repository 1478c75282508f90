// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// wheel.h's other half.
#include "emulator/queue/wheel.h"

namespace lw::emulator {

template <class Item>
Wheel<Item>::Wheel(std::size_t capacity) : slots_(kSlots), chunks_(chunks_for(capacity)) {
  current_.reserve(capacity + 1);
  gathered_.reserve(capacity);
  keys_.reserve(capacity);
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
    if (tick_of(item.due) <= tick_) [[unlikely]] {
      put_into_current(item);
    } else {
      put(item);
    }
  }
  next_ = next;
  size_ += items.size();
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
  tick_ = tick;
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
    for (std::uint32_t i = 0; i < used; ++i) {
      if (tick_of(full.items[i].due) == tick) [[likely]] {
        gathered_.push_back(full.items[i]);
      } else {
        put(full.items[i]);
      }
    }
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

/// Slots are looked through in the order of time, round after round: what is further away than a
/// round is met, and left, once a round.
template <class Item>
void Wheel<Item>::find_next() noexcept {
  std::int64_t base = tick_ + 1;
  while (true) {
    const std::uint32_t start = index_of(base);
    const std::uint32_t slot = busy_.next(start);
    if (slot == BitMap::kBits) {
      base += kSlots - start;
      continue;
    }
    base += slot - start;
    next_ = slots_[slot].earliest;
    if (tick_of(next_) == base) return;
    ++base;
  }
}

}  // namespace lw::emulator
