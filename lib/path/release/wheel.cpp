// SPDX-License-Identifier: BSD-3-Clause
#include "path/release/wheel.h"

#include <algorithm>

namespace lw::path {
namespace {

bool before(const Wheel::Item& a, const Wheel::Item& b) noexcept {
  return a.due != b.due ? a.due < b.due : a.order < b.order;
}

}  // namespace

Wheel::Wheel(std::size_t capacity) : capacity_(capacity), slots_(kSlots) {
  current_.reserve(capacity + 1);
  chunks_.resize(chunks_for(capacity));
  for (std::size_t i = chunks_.size(); i-- > 0;) {
    chunks_[i].next = free_chunk_;
    free_chunk_ = static_cast<std::uint32_t>(i);
  }
}

void Wheel::push(const Item& item, Instant now) noexcept {
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

std::uint32_t Wheel::front() noexcept {
  if (first_ == current_.size()) load(tick_of(next_));
  return current_[first_].id;
}

void Wheel::pop() noexcept {
  if (first_ == current_.size()) load(tick_of(next_));
  --size_;
  if (++first_ < current_.size()) {
    next_ = current_[first_].due;
    return;
  }
  current_.clear();
  first_ = 0;
  if (size_ > 0) find_next();
}

void Wheel::put(const Item& item) noexcept {
  const std::int64_t tick = tick_of(item.due);
  Slot& slot = slot_of(tick);
  if (slot.first == kNone) {
    slot.first = slot.last = new_chunk();
    busy_.set(static_cast<std::uint32_t>(static_cast<std::uint64_t>(tick) % kSlots));
  } else if (chunks_[slot.last].used == kChunkItems) {
    const std::uint32_t chunk = new_chunk();
    chunks_[slot.last].next = chunk;
    slot.last = chunk;
  }
  Chunk& chunk = chunks_[slot.last];
  chunk.items[chunk.used++] = item;
}

std::uint32_t Wheel::new_chunk() noexcept {
  const std::uint32_t chunk = free_chunk_;
  free_chunk_ = chunks_[chunk].next;
  chunks_[chunk].used = 0;
  chunks_[chunk].next = kNone;
  return chunk;
}

/// Among equal ones it is the last: it came last.
void Wheel::put_into_current(Item item) noexcept {
  if (current_.size() == current_.capacity()) {
    current_.erase(current_.begin(), current_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  item.order = static_cast<std::uint32_t>(current_.size());
  const auto begin = current_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto place = std::upper_bound(begin, current_.end(), item,
                                      [](const Item& a, const Item& b) { return a.due < b.due; });
  current_.insert(place, item);
}

void Wheel::load(std::int64_t tick) noexcept {
  Slot& slot = slot_of(tick);
  std::uint32_t chunk = slot.first;
  slot = {};
  busy_.clear(static_cast<std::uint32_t>(static_cast<std::uint64_t>(tick) % kSlots));
  tick_ = tick;
  while (chunk != kNone) {
    Chunk& full = chunks_[chunk];
    for (std::uint32_t i = 0; i < full.used; ++i) {
      if (tick_of(full.items[i].due) != tick) {
        put(full.items[i]);
        continue;
      }
      current_.push_back(full.items[i]);
      current_.back().order = static_cast<std::uint32_t>(current_.size());
    }
    const std::uint32_t next = full.next;
    full.next = free_chunk_;
    free_chunk_ = chunk;
    chunk = next;
  }
  std::sort(current_.begin(), current_.end(), before);
}

std::optional<Instant> Wheel::earliest_of(std::int64_t tick) noexcept {
  std::optional<Instant> earliest;
  for (std::uint32_t chunk = slot_of(tick).first; chunk != kNone; chunk = chunks_[chunk].next) {
    const Chunk& items = chunks_[chunk];
    for (std::uint32_t i = 0; i < items.used; ++i) {
      const Instant due = items.items[i].due;
      if (tick_of(due) == tick && (!earliest || due < *earliest)) earliest = due;
    }
  }
  return earliest;
}

/// Slots are looked through in the order of time, round after round: what is further away than a
/// round is met, and left, once a round.
void Wheel::find_next() noexcept {
  std::int64_t base = tick_ + 1;
  while (true) {
    const auto start = static_cast<std::uint32_t>(static_cast<std::uint64_t>(base) % kSlots);
    const std::uint32_t slot = busy_.next(start);
    if (slot == BitMap::kBits) {
      base += kSlots - start;
      continue;
    }
    base += slot - start;
    if (const auto earliest = earliest_of(base)) {
      next_ = *earliest;
      return;
    }
    ++base;
  }
}

}  // namespace lw::path
