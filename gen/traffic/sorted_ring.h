// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "gen/traffic/due_flow.h"

namespace lw::gen {

/// Turns in their order, put on at one end and taken off at the other: where flows of one rate take
/// turns, each one's next is behind all others', and nothing has to be sorted.
class SortedRing {
 public:
  /// For at most so many turns at once.
  explicit SortedRing(std::size_t turns) : ring_(std::bit_ceil(std::max<std::size_t>(turns, 1))) {}

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Number `i` from the front.
  [[nodiscard]] const DueFlow& at(std::size_t i) const noexcept { return ring_[place(i)]; }
  /// From the front on, as many as stand in one piece.
  [[nodiscard]] std::span<const DueFlow> row() const noexcept {
    return {ring_.data() + front_, std::min(size_, ring_.size() - front_)};
  }

  [[nodiscard]] bool takes(const DueFlow& turn) const noexcept { return empty() || turn > last_; }
  /// One that it takes().
  void put_on(const DueFlow& turn) noexcept {
    last_ = turn;
    ring_[place(size_++)] = turn;
  }
  void take_off() noexcept {
    front_ = place(1);
    --size_;
  }
  /// Takes off as many as `next` has, the i-th of which is when that flow's next turn is. Those
  /// that it takes() and that are at most `reach` behind the first one are put on; `leave(turn)`
  /// gets the others.
  template <class Leave>
  void take_round(std::span<const Duration> next, Duration reach, Leave leave) noexcept {
    const DueFlow* before = ring_.data() + front_;  // a row(): in one piece
    DueFlow* const begin = ring_.data();
    DueFlow* const end = begin + ring_.size();
    DueFlow* to = begin + place(size_);
    Duration last_at = last_.at;
    std::uint32_t last_flow = last_.flow;
    std::size_t left = 0;
    const Duration until = next.empty() ? Duration{0} : before->at + reach;
    for (const Duration at : next) {
      const std::uint32_t flow = before++->flow;  // read before a full ring's place is used again
      const bool behind = at > last_at || (at == last_at && flow > last_flow);
      if (!behind || at > until) [[unlikely]] {
        leave(DueFlow{at, flow});
        ++left;
        continue;
      }
      to->at = last_at = at;
      to->flow = last_flow = flow;
      if (++to == end) to = begin;
    }
    last_ = {last_at, last_flow};
    front_ = place(next.size());
    size_ -= left;
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t i) const noexcept {
    return (front_ + i) & (ring_.size() - 1);
  }

  std::vector<DueFlow> ring_;  // a power of two
  std::size_t front_ = 0, size_ = 0;
  DueFlow last_;
};

}  // namespace lw::gen
