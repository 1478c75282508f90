// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <queue>
#include <vector>

#include "gen/traffic/due_flow.h"

namespace lw::gen {

/// Turns in their order, one a flow: a wheel of slots of time, each a list linked by flow number;
/// the slot under way is sorted, and what lies beyond the wheel waits in a heap. With a few turns a
/// slot, taking one and putting it back costs the same for one flow and for ten thousand.
class FlowWheel {
 public:
  /// Empty, for flows with numbers below `flows`. `slot` is about the time of eight turns; any will
  /// do, but far off it costs speed.
  FlowWheel(std::size_t flows, Duration slot);

  /// Of a flow that has no turn here.
  void insert(const DueFlow& turn) noexcept;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  // Of one that isn't empty:
  [[nodiscard]] const DueFlow& first() const noexcept { return under_way_.back(); }
  /// No turn but the first comes before this; it may be early, never late.
  [[nodiscard]] Duration others_from() const noexcept;
  /// The first flow's next turn, not before the one it had. True when another slot begins.
  bool put_back(Duration at) noexcept;
  bool remove_first() noexcept;

  /// The turns of the slot under way: for who fetches ahead.
  [[nodiscard]] const std::vector<DueFlow>& under_way() const noexcept { return under_way_; }

 private:
  struct Link {
    Duration at{};
    std::uint32_t next = kNone;
  };
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
  void place(const DueFlow& turn) noexcept;
  void insert_sorted(const DueFlow& turn) noexcept;
  void open_next() noexcept;
  /// Goes on to the next slot that has turns once that under way has none.
  bool open_if_through() noexcept {
    if (!under_way_.empty() || count_ == 0) return false;
    open_next();
    return true;
  }

  int shift_;                            // a slot is 2^shift ns
  std::int64_t now_ = -1;                // number of the slot under way
  std::size_t count_ = 0;                // turns, wherever they are
  std::vector<DueFlow> under_way_;       // the latest first
  std::vector<std::uint32_t> slots_;     // heads; a power of two
  std::vector<std::uint64_t> occupied_;  // a bit a slot
  std::vector<Link> links_;              // by flow
  std::priority_queue<DueFlow, std::vector<DueFlow>, std::greater<>> far_;
};

inline Duration FlowWheel::others_from() const noexcept {
  if (count_ == 1) return Duration::max();
  if (under_way_.size() > 1) return under_way_[under_way_.size() - 2].at;
  return Duration{std::min(next_slot(), far_slot()) << shift_};
}

inline bool FlowWheel::put_back(Duration at) noexcept {
  const std::uint32_t flow = first().flow;
  if (count_ == 1) {
    under_way_.back().at = at;
    now_ = slot_of(at);
    return false;
  }
  under_way_.pop_back();
  place({at, flow});
  return open_if_through();
}

inline void FlowWheel::place(const DueFlow& turn) noexcept {
  const std::int64_t slot = slot_of(turn.at);
  if (slot <= now_) return insert_sorted(turn);
  if (slot - now_ >= static_cast<std::int64_t>(slots_.size())) return far_.push(turn);
  const std::size_t index = index_of(slot);
  links_[turn.flow] = {turn.at, slots_[index]};
  slots_[index] = turn.flow;
  occupied_[index / kWord] |= std::uint64_t{1} << index % kWord;
}

inline std::int64_t FlowWheel::next_slot() const noexcept {
  const std::size_t from = index_of(now_ + 1);
  const std::size_t words = occupied_.size();
  std::uint64_t word = occupied_[from / kWord] & ~std::uint64_t{0} << from % kWord;
  // Round to the first word again, for the bits that were masked.
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
