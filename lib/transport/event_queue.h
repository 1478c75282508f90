// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/time.h"

namespace lw::transport {

/// Finds the source with the next event. Scans up to four sources; more are kept in a binary heap,
/// with the position of each source. (tests/bench/sim_bench: two sources in a heap cost a simulated
/// packet 40 ns of swaps.) Sources with equal times are ordered by number, so the order is
/// deterministic.
class EventQueue {
 public:
  /// Adds a source without an event.
  std::uint32_t add() {
    const std::uint32_t source = sources_++;
    times_.resize(std::max<std::size_t>(sources_, kScanned), Instant::max());
    place_.push_back(source);
    heap_.push_back(source);
    // In the heap, a source without an event belongs at the end.
    if (sources_ == kScanned + 1)
      for (std::size_t i = heap_.size(); i-- > 0;) sift_down(i);
    return source;
  }
  [[nodiscard]] std::uint32_t sources() const noexcept { return sources_; }
  /// Sets the source's next event; Instant::max(): none.
  void set(std::uint32_t source, Instant at) noexcept {
    Instant& time = times_[source];
    if (!scanned() && at != time) {
      sift(source, at);
    } else {
      time = at;
    }
  }
  /// The source that is next, and its time. Both require a source.
  [[nodiscard]] std::uint32_t next_source() const noexcept {
    const Instant* at = times_.data();
    const std::uint32_t low = at[1] < at[0] ? 1 : 0;
    if (sources_ <= 2) return low;
    if (!scanned()) return heap_.front();
    const std::uint32_t high = at[3] < at[2] ? 3 : 2;
    return at[high] < at[low] ? high : low;
  }
  [[nodiscard]] Instant next_at() const noexcept { return times_[next_source()]; }
  [[nodiscard]] Instant at(std::uint32_t source) const noexcept { return times_[source]; }

 private:
  static constexpr std::size_t kScanned = 4;
  [[nodiscard]] bool scanned() const noexcept { return sources_ <= kScanned; }

  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    return times_[a] != times_[b] ? times_[a] < times_[b] : a < b;
  }
  void sift(std::uint32_t source, Instant at) noexcept {
    const bool sooner = at < times_[source];
    times_[source] = at;
    sooner ? sift_up(place_[source]) : sift_down(place_[source]);
  }
  void sift_up(std::size_t i) noexcept {
    while (i > 0 && before(heap_[i], heap_[(i - 1) / 2])) {
      exchange(i, (i - 1) / 2);
      i = (i - 1) / 2;
    }
  }
  void sift_down(std::size_t i) noexcept {
    for (;;) {
      std::size_t least = 2 * i + 1;
      if (least >= heap_.size()) return;
      if (least + 1 < heap_.size() && before(heap_[least + 1], heap_[least])) ++least;
      if (!before(heap_[least], heap_[i])) return;
      exchange(i, least);
      i = least;
    }
  }
  void exchange(std::size_t a, std::size_t b) noexcept {
    std::swap(heap_[a], heap_[b]);
    place_[heap_[a]] = static_cast<std::uint32_t>(a);
    place_[heap_[b]] = static_cast<std::uint32_t>(b);
  }

  std::uint32_t sources_ = 0;
  std::vector<Instant> times_;        // by source; unused ones have no event
  std::vector<std::uint32_t> heap_;   // sources
  std::vector<std::uint32_t> place_;  // by source: its index in heap_
};

}  // namespace lw::transport
