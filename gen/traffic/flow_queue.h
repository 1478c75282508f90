// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "core/time.h"

namespace lw::gen {

/// A flow and when its next frame is due. Ordered by time, then by flow number.
struct DueFlow {
  Duration at{};
  std::uint32_t flow = 0;
  friend auto operator<=>(const DueFlow&, const DueFlow&) = default;
};

/// A ring of DueFlows in ascending order. If flows of one rate alternate, the next due time of each
/// is after that of all others, so nothing has to be sorted.
class SortedRing {
 public:
  /// Holds at most `flows` entries.
  explicit SortedRing(std::size_t flows) : ring_(std::bit_ceil(std::max<std::size_t>(flows, 1))) {}

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Entry `i` from the front.
  [[nodiscard]] const DueFlow& at(std::size_t i) const noexcept { return ring_[index(i)]; }
  /// The entries from the front on that are contiguous in memory.
  [[nodiscard]] std::span<const DueFlow> front_span() const noexcept {
    return {ring_.data() + front_, std::min(size_, ring_.size() - front_)};
  }

  /// True if push() keeps the order.
  [[nodiscard]] bool accepts(const DueFlow& due) const noexcept { return empty() || due > last_; }
  /// Appends an entry. Requires accepts(due).
  void push(const DueFlow& due) noexcept {
    last_ = due;
    ring_[index(size_++)] = due;
  }
  void pop() noexcept {
    front_ = index(1);
    --size_;
  }
  /// Pops next.size() entries of front_span() and pushes each flow again with due time next[i],
  /// unless the order forbids it or next[i] is more than `reach` after the first entry: then it
  /// calls `reject(due)`.
  template <class Reject>
  void reschedule(std::span<const Duration> next, Duration reach, Reject reject) noexcept {
    const DueFlow* before = ring_.data() + front_;
    DueFlow* const begin = ring_.data();
    DueFlow* const end = begin + ring_.size();
    DueFlow* to = begin + index(size_);
    Duration last_at = last_.at;
    std::uint32_t last_flow = last_.flow;
    std::size_t rejected = 0;
    const Duration until = next.empty() ? Duration{0} : before->at + reach;
    for (const Duration at : next) {
      const std::uint32_t flow = before++->flow;  // read first: `to` may be the same entry
      const bool behind = at > last_at || (at == last_at && flow > last_flow);
      if (!behind || at > until) [[unlikely]] {
        reject(DueFlow{at, flow});
        ++rejected;
        continue;
      }
      to->at = last_at = at;
      to->flow = last_flow = flow;
      if (++to == end) to = begin;
    }
    last_ = {last_at, last_flow};
    front_ = index(next.size());
    size_ -= rejected;
  }

 private:
  [[nodiscard]] std::size_t index(std::size_t i) const noexcept {
    return (front_ + i) & (ring_.size() - 1);
  }

  std::vector<DueFlow> ring_;  // the size is a power of two
  std::size_t front_ = 0, size_ = 0;
  DueFlow last_;
};

/// A timer wheel of DueFlows, one per flow: each slot of time is a list linked by flow number; the
/// current slot is sorted, and times beyond the wheel wait in a heap. With a few entries per slot,
/// rescheduling one costs the same for one flow and for 10,000.
class FlowWheel {
 public:
  /// For flow numbers below `flows`. `slot`: about the time of eight frames; other values cost
  /// speed only.
  FlowWheel(std::size_t flows, Duration slot);

  /// Adds a flow that has no entry.
  void insert(const DueFlow& due) noexcept;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  // The following functions require !empty().
  [[nodiscard]] const DueFlow& first() const noexcept { return current_.back(); }
  /// Lower bound of the due times of all entries but the first.
  [[nodiscard]] Duration second_from() const noexcept;
  /// Sets the first flow's due time, which must not decrease. Returns true if a new slot starts.
  bool reschedule_first(Duration at) noexcept;
  /// Returns true if a new slot starts.
  bool remove_first() noexcept;

  /// Entries of the current slot, the latest first.
  [[nodiscard]] const std::vector<DueFlow>& current() const noexcept { return current_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::int64_t kNever = INT64_MAX;
  static constexpr std::size_t kWord = 64;  // bits

  [[nodiscard]] std::int64_t slot_of(Duration at) const noexcept { return at.count() >> shift_; }
  [[nodiscard]] std::size_t index_of(std::int64_t slot) const noexcept {
    return static_cast<std::size_t>(slot) & (slots_.size() - 1);
  }
  [[nodiscard]] std::int64_t next_slot() const noexcept;
  [[nodiscard]] std::int64_t far_slot() const noexcept {
    return far_.empty() ? kNever : slot_of(far_.top().at);
  }
  void add(const DueFlow& due) noexcept;
  void insert_sorted(const DueFlow& due) noexcept;
  void open_next() noexcept;
  /// Opens the next slot with entries if the current one is empty.
  bool open_if_done() noexcept {
    if (!current_.empty() || count_ == 0) return false;
    open_next();
    return true;
  }

  int shift_;                            // a slot is 2^shift ns
  std::int64_t now_ = -1;                // number of the current slot
  std::size_t count_ = 0;                // entries in current_, slots_ and far_
  std::vector<DueFlow> current_;         // the latest first
  std::vector<std::uint32_t> slots_;     // list heads; the size is a power of two
  std::vector<std::uint64_t> occupied_;  // a bit per slot
  std::vector<DueFlow> links_;           // by flow: its due time, and the next flow of the slot
  std::priority_queue<DueFlow, std::vector<DueFlow>, std::greater<>> far_;
};

/// All flows by due time, one entry each: flows that alternate evenly in a SortedRing, others in a
/// FlowWheel. The container of an entry affects speed only, not the order.
class FlowQueue {
 public:
  static constexpr Duration kNever = Duration::max();

  /// `entries`: at most one per flow, with numbers below `flows`. `slot`: about the time of eight
  /// frames; other values cost speed only.
  FlowQueue(std::size_t flows, Duration slot, std::vector<DueFlow> entries);

  [[nodiscard]] bool empty() const noexcept { return ring_.empty() && wheel_.empty(); }
  // The following functions require !empty().
  [[nodiscard]] const DueFlow& first() const noexcept {
    return in_ring_ ? ring_.at(0) : wheel_.first();
  }
  /// Lower bound of the due times of all entries but the first.
  [[nodiscard]] Duration second_from() const noexcept {
    if (!in_ring_) return std::min(ring_from(0), wheel_.second_from());
    return std::min(ring_from(1), wheel_from());
  }
  /// Sets the first flow's due time, which must not decrease. Returns true if the wheel() starts a
  /// new slot.
  bool reschedule_first(Duration at) noexcept;
  /// Returns true if the wheel() starts a new slot.
  bool remove_first() noexcept;

  /// The first entries in order of time, as far as they are contiguous in memory; often none.
  [[nodiscard]] std::span<const DueFlow> batch() const noexcept {
    if (!in_ring_) return {};
    return ring_.front_span();
  }
  /// Entries of batch() that are due before this time come before all entries of the wheel.
  [[nodiscard]] Duration batch_until() const noexcept { return wheel_from(); }
  /// Sets the due times of the first next.size() entries of the batch(): next[i], or kNever to
  /// remove the entry. None may be before the last of those entries.
  void reschedule(std::span<const Duration> next) noexcept;

  /// Calls `use(flow)` for the first `count` entries of the ring, as far as they exist.
  template <class Use>
  void for_ring(std::size_t count, Use use) const noexcept {
    count = std::min(count, ring_.size());
    for (std::size_t i = 0; i < count; ++i) use(ring_.at(i).flow);
  }
  [[nodiscard]] const FlowWheel& wheel() const noexcept { return wheel_; }

 private:
  [[nodiscard]] Duration ring_from(std::size_t i) const noexcept {
    return i < ring_.size() ? ring_.at(i).at : kNever;
  }
  [[nodiscard]] Duration wheel_from() const noexcept {
    return wheel_.empty() ? kNever : wheel_.first().at;
  }
  [[nodiscard]] bool fits_ring(const DueFlow& due, Duration before) const noexcept {
    return due.at - before <= reach_ && ring_.accepts(due);
  }
  void insert(const DueFlow& due, Duration before) noexcept;
  bool pop_first() noexcept {
    if (!in_ring_) return wheel_.remove_first();
    ring_.pop();
    return false;
  }
  void choose() noexcept {
    in_ring_ = !ring_.empty() && (wheel_.empty() || ring_.at(0) < wheel_.first());
  }

  Duration reach_;  // longest gap in the ring: after a longer one, no other flow could enter
  SortedRing ring_;
  FlowWheel wheel_;
  bool in_ring_ = false;  // the first entry is in the ring
};

inline Duration FlowWheel::second_from() const noexcept {
  if (count_ == 1) return Duration::max();
  if (current_.size() > 1) return current_[current_.size() - 2].at;
  return Duration{std::min(next_slot(), far_slot()) << shift_};
}

inline bool FlowWheel::reschedule_first(Duration at) noexcept {
  const std::uint32_t flow = first().flow;
  if (count_ == 1) {
    current_.back().at = at;
    now_ = slot_of(at);
    return false;
  }
  current_.pop_back();
  add({at, flow});
  return open_if_done();
}

inline void FlowWheel::add(const DueFlow& due) noexcept {
  const std::int64_t slot = slot_of(due.at);
  if (slot <= now_) return insert_sorted(due);
  if (slot - now_ >= static_cast<std::int64_t>(slots_.size())) return far_.push(due);
  const std::size_t index = index_of(slot);
  links_[due.flow] = {due.at, slots_[index]};
  slots_[index] = due.flow;
  occupied_[index / kWord] |= std::uint64_t{1} << index % kWord;
}

inline std::int64_t FlowWheel::next_slot() const noexcept {
  const std::size_t from = index_of(now_ + 1);
  const std::size_t words = occupied_.size();
  std::uint64_t word = occupied_[from / kWord] & ~std::uint64_t{0} << from % kWord;
  // Includes the first word again, for the bits that were masked.
  for (std::size_t i = 0; i <= words; ++i) {
    const std::size_t at = (from / kWord + i) & (words - 1);
    if (i > 0) word = occupied_[at];
    if (word == 0) continue;
    const std::size_t index = at * kWord + static_cast<std::size_t>(std::countr_zero(word));
    return now_ + 1 + static_cast<std::int64_t>((index - from) & (slots_.size() - 1));
  }
  return kNever;
}

}  // namespace lw::gen
