// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// wheel.h's other half.
#include "path/release/wheel.h"

namespace lw::path {

template <class Item>
Wheel<Item>::Wheel(std::size_t capacity) : slots_(kSlots), chunks_(chunks_for(capacity)) {
  current_.reserve(capacity + 1);
  for (std::size_t i = chunks_.size(); i-- > 0;) {
    chunks_[i].next = free_chunk_;
    free_chunk_ = static_cast<std::uint32_t>(i);
  }
}

template <class Item>
void Wheel<Item>::push(Item item, Instant now) noexcept {
  if (size_ == 0) {
    tick_ = tick_of(now);
    next_ = item.due;
  }
  next_ = std::min(next_, item.due);
  ++size_;
  if (tick_of(item.due) <= tick_) {
    put_into_current(item);
  } else {
    put(item);
  }
}

template <class Item>
void Wheel<Item>::pop() noexcept {
  turn();
  --size_;
  if (++first_ < current_.size()) {
    next_ = current_[first_].item.due;
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
                       [](Instant due, const Ordered& other) { return due < other.item.due; });
  current_.insert(place, {item, static_cast<std::uint32_t>(current_.size())});
}

template <class Item>
void Wheel<Item>::load(std::int64_t tick) noexcept {
  const Slot slot = slot_of(tick);
  slot_of(tick) = {};
  busy_.clear(index_of(tick));
  tick_ = tick;
  for (std::uint32_t chunk = slot.first; chunk != kNone;) {
    Chunk& full = chunks_[chunk];
    const std::uint32_t used = used_of(slot, chunk);
    for (std::uint32_t i = 0; i < used; ++i) {
      if (tick_of(full.items[i].due) == tick) {
        current_.push_back({full.items[i], static_cast<std::uint32_t>(current_.size())});
      } else {
        put(full.items[i]);
      }
    }
    const std::uint32_t next = full.next;
    full.next = free_chunk_;
    free_chunk_ = chunk;
    chunk = next;
  }
  std::sort(current_.begin(), current_.end(), [](const Ordered& a, const Ordered& b) {
    return a.item.due != b.item.due ? a.item.due < b.item.due : a.order < b.order;
  });
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

}  // namespace lw::path
