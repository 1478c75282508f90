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
/// tournament: each inner node has the source that is next of those below it. Sources with equal
/// times are ordered by number, so the order is deterministic. (tests/bench/sim_bench: two sources
/// in a heap cost a simulated packet 40 ns of swaps. A network of 5 hosts and 2 switches with 26
/// sources: a heap took 22 % of its time, 10 % more than a tournament.)
class EventQueue {
 public:
  /// Adds a source without an event.
  std::uint32_t add() {
    const std::uint32_t source = sources_++;
    if (sources_ > leaves_) grow();
    return source;
  }
  [[nodiscard]] std::uint32_t sources() const noexcept { return sources_; }
  /// Sets the source's next event, not before time 0; Instant::max(): none.
  void set(std::uint32_t source, Instant at) noexcept {
    Key& leaf = nodes_[leaves_ + source];
    if (time_of(leaf) == at) return;
    leaf = key_of(at, source);
    if (!scanned()) play_again(leaves_ + source);
  }
  /// The source that is next, and its time. Both require a source.
  [[nodiscard]] std::uint32_t next_source() const noexcept {
    if (!scanned()) return static_cast<std::uint32_t>(nodes_[1]);
    const auto time = [this](std::uint32_t source) { return time_of(nodes_[kScanned + source]); };
    const std::uint32_t low = time(1) < time(0) ? 1 : 0;
    if (sources_ <= 2) return low;
    const std::uint32_t high = time(3) < time(2) ? 3 : 2;
    return time(high) < time(low) ? high : low;
  }
  [[nodiscard]] Instant next_at() const noexcept {
    return scanned() ? at(next_source()) : time_of(nodes_[1]);
  }
  [[nodiscard]] Instant at(std::uint32_t source) const noexcept {
    return time_of(nodes_[leaves_ + source]);
  }

 private:
  static constexpr std::size_t kScanned = 4;
  /// The time of a source's event, in the upper 64 bits, and the source: the least key is next.
  __extension__ using Key = unsigned __int128;
  static constexpr int kTimeBits = 64;

  static Key key_of(Instant at, std::uint32_t source) noexcept {
    return Key{static_cast<std::uint64_t>(to_ns(at))} << kTimeBits | source;
  }
  static Instant time_of(Key key) noexcept {
    return instant_from_ns(static_cast<std::int64_t>(key >> kTimeBits));
  }
  [[nodiscard]] bool scanned() const noexcept { return sources_ <= kScanned; }

  /// Plays the node's matches up to the root. A node has the key of its winner, so no match waits
  /// for a look-up in the one below it, and none is a branch, which half of the time would be
  /// predicted wrong.
  void play_again(std::size_t node) noexcept {
    Key* const nodes = nodes_.data();
    for (Key key = nodes[node]; node > 1; nodes[node] = key) {
      const Key other = nodes[node ^ 1];
      key = other < key ? other : key;
      node /= 2;
    }
  }
  /// Doubles the leaves.
  void grow() {
    const std::size_t before = leaves_, now = std::max(kScanned, 2 * before);
    std::vector<Key> larger(2 * now, key_of(Instant::max(), 0));
    for (std::uint32_t i = 0; i < now; ++i) larger[now + i] = key_of(Instant::max(), i);
    std::copy_n(nodes_.begin() + static_cast<std::ptrdiff_t>(before), before,
                larger.begin() + static_cast<std::ptrdiff_t>(now));
    nodes_.swap(larger);
    leaves_ = now;
    for (std::size_t leaf = now; leaf < 2 * now; leaf += 2) play_again(leaf);
  }

  std::uint32_t sources_ = 0;
  std::size_t leaves_ = 0;
  std::vector<Key> nodes_;  // the root at 1; the leaves, by source, in the second half
};

}  // namespace lw::transport
