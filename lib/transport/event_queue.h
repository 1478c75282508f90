// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/time.h"

namespace lw::transport {

/// Finds the source with the next event. Scans up to four sources; more are the leaves of a
/// tournament: each inner node has the source that is next of those below it, so set() compares
/// once per level, and only up to the first node that stays. Sources with equal times are ordered
/// by number, so the order is deterministic. (tests/bench/sim_bench: two sources in a heap cost a
/// simulated packet 40 ns of swaps. A network of 5 hosts and 2 switches has 26 sources: a heap took
/// 22 % of its time, 10 % more than this.)
class EventQueue {
 public:
  /// Adds a source without an event.
  std::uint32_t add() {
    const std::uint32_t source = sources_++;
    if (sources_ > times_.size()) grow();
    return source;
  }
  [[nodiscard]] std::uint32_t sources() const noexcept { return sources_; }
  /// Sets the source's next event; Instant::max(): none.
  void set(std::uint32_t source, Instant at) noexcept {
    Instant& time = times_[source];
    if (!scanned() && at != time) {
      time = at;
      play_again(source);
    } else {
      time = at;
    }
  }
  /// The source that is next, and its time. Both require a source.
  [[nodiscard]] std::uint32_t next_source() const noexcept {
    const Instant* at = times_.data();
    const std::uint32_t low = at[1] < at[0] ? 1 : 0;
    if (sources_ <= 2) return low;
    if (!scanned()) return winners_[1];
    const std::uint32_t high = at[3] < at[2] ? 3 : 2;
    return at[high] < at[low] ? high : low;
  }
  [[nodiscard]] Instant next_at() const noexcept { return times_[next_source()]; }
  [[nodiscard]] Instant at(std::uint32_t source) const noexcept { return times_[source]; }

 private:
  static constexpr std::size_t kScanned = 4;
  [[nodiscard]] bool scanned() const noexcept { return sources_ <= kScanned; }

  /// Of two nodes' winners the next one; the left subtree has the lower numbers.
  [[nodiscard]] std::uint32_t winner_of(std::size_t node) const noexcept {
    const std::uint32_t left = winners_[2 * node], right = winners_[2 * node + 1];
    return times_[right] < times_[left] ? right : left;
  }
  void play_again(std::uint32_t source) noexcept {
    for (std::size_t node = (times_.size() + source) / 2; node > 0; node /= 2) {
      const std::uint32_t before = winners_[node], now = winner_of(node);
      winners_[node] = now;
      if (before == now && now != source) return;
    }
  }
  /// Doubles the leaves.
  void grow() {
    times_.resize(std::max(kScanned, 2 * times_.size()), Instant::max());
    winners_.resize(2 * times_.size());
    for (std::size_t i = 0; i < times_.size(); ++i)
      winners_[times_.size() + i] = static_cast<std::uint32_t>(i);
    for (std::size_t node = times_.size(); --node > 0;) winners_[node] = winner_of(node);
  }

  std::uint32_t sources_ = 0;
  std::vector<Instant> times_;          // by source, a power of two; unused ones have no event
  std::vector<std::uint32_t> winners_;  // by node, from 1; then the leaves
};

}  // namespace lw::transport
