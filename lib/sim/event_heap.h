// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/time.h"

namespace lw::sim {

/// Which of a few sources has the next event: a binary heap that knows where each source stands,
/// so that moving one's time costs a few swaps. Equal times go by source number: deterministic.
class EventHeap {
 public:
  /// A new source, without an event.
  std::uint32_t add() {
    const auto source = static_cast<std::uint32_t>(place_.size());
    place_.push_back(static_cast<std::uint32_t>(heap_.size()));
    heap_.push_back({Instant::max(), source});
    sift_up(heap_.size() - 1);
    return source;
  }
  /// The source's next event; Instant::max(): none.
  void set(std::uint32_t source, Instant at) noexcept {
    const std::size_t i = place_[source];
    const Instant before = heap_[i].at;
    if (at == before) return;
    heap_[i].at = at;
    at < before ? sift_up(i) : sift_down(i);
  }
  /// Only when there is a source, both.
  [[nodiscard]] Instant next_at() const noexcept { return heap_.front().at; }
  [[nodiscard]] std::uint32_t next_source() const noexcept { return heap_.front().source; }

 private:
  struct Entry {
    Instant at;
    std::uint32_t source = 0;
    [[nodiscard]] bool before(const Entry& other) const noexcept {
      return at != other.at ? at < other.at : source < other.source;
    }
  };

  void sift_up(std::size_t i) noexcept {
    while (i > 0 && heap_[i].before(heap_[(i - 1) / 2])) {
      exchange(i, (i - 1) / 2);
      i = (i - 1) / 2;
    }
  }
  void sift_down(std::size_t i) noexcept {
    for (;;) {
      std::size_t least = 2 * i + 1;
      if (least >= heap_.size()) return;
      if (least + 1 < heap_.size() && heap_[least + 1].before(heap_[least])) ++least;
      if (!heap_[least].before(heap_[i])) return;
      exchange(i, least);
      i = least;
    }
  }
  void exchange(std::size_t a, std::size_t b) noexcept {
    std::swap(heap_[a], heap_[b]);
    place_[heap_[a].source] = static_cast<std::uint32_t>(a);
    place_[heap_[b].source] = static_cast<std::uint32_t>(b);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;
};

}  // namespace lw::sim
