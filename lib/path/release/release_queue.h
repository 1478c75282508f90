// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <vector>

#include "path/release/ring.h"
#include "path/release/wheel.h"
#include "path/transit.h"

namespace lw::path {

/// Frames whose releases come in no order: a wheel says who is next, a pool holds them.
template <class Entry>
class WheelLine {
 public:
  explicit WheelLine(std::size_t capacity) : wheel_(capacity), entries_(capacity) {
    free_.reserve(capacity);
    for (std::size_t i = capacity; i-- > 0;) free_.push_back(static_cast<std::uint32_t>(i));
  }
  void push(const Entry& entry, Instant now) noexcept {
    const std::uint32_t id = free_.back();
    free_.pop_back();
    entries_[id].entry = entry;
    wheel_.push({entry.transit.due, id}, now);
  }
  [[nodiscard]] bool empty() const noexcept { return wheel_.empty(); }
  [[nodiscard]] Instant next() const noexcept { return wheel_.next(); }
  [[nodiscard]] const Entry& front() noexcept { return entries_[wheel_.front()].entry; }
  void pop() noexcept {
    free_.push_back(wheel_.front());
    wheel_.pop();
    // What waited for milliseconds has left the caches (bench_path, jitter_order_free).
    if (const auto coming = wheel_.coming(kAhead)) __builtin_prefetch(&entries_[*coming]);
  }
  /// Every frame, in no order.
  template <class Visit>
  void for_each(Visit visit) const {
    std::vector<bool> inside(entries_.size(), true);
    for (const std::uint32_t id : free_) inside[id] = false;
    for (std::size_t id = 0; id < entries_.size(); ++id)
      if (inside[id]) visit(entries_[id].entry);
  }

 private:
  static constexpr std::size_t kAhead = 12;
  struct alignas(64) OfALine {
    Entry entry;
  };

  Wheel wheel_;
  std::vector<OfALine> entries_;
  std::vector<std::uint32_t> free_;
};

/// Frames that wait for their release, in the order of it. Where releases come in the order of
/// arrivals (a constant delay, or a varying one that keeps the order) a ring is a queue: a line for
/// each such stream of frames. All others share a timing wheel. The least of the fronts is next;
/// O(1) a frame. `Handle` is whatever stands for a frame; it isn't owned.
template <class Handle>
class ReleaseQueue {
 public:
  struct Entry {
    Transit transit;
    Handle handle;
  };
  static constexpr Instant kNever{Duration{std::numeric_limits<Duration::rep>::max()}};

  /// `capacity` frames in all, on whichever line. Lines from `used` on are looked at once use() has
  /// said so.
  ReleaseQueue(std::size_t lines, std::size_t used, std::size_t capacity)
      : capacity_(capacity), used_(used), lines_(lines, Ring<Entry>(capacity)), wheel_(capacity) {}

  /// The first `lines` are used from now on.
  void use(std::size_t lines) noexcept { used_ = std::max(used_, lines); }

  /// What it takes, a little more or less.
  static std::uint64_t bytes_needed(std::size_t lines, std::size_t capacity) noexcept {
    const std::uint64_t in_lines = lines * std::bit_ceil(capacity) * sizeof(Entry);
    return in_lines + Wheel::bytes_needed(capacity) + capacity * sizeof(Entry);
  }

  /// False, with nothing done, when `capacity` frames wait already. On one line due times rise from
  /// one push to the next: a frame that would break that waits on the wheel. `now` never falls.
  [[nodiscard]] bool push(LineIndex line, const Entry& entry, Instant now) noexcept {
    if (size_ == capacity_) return false;
    // Seen after a change of configuration, for as long as older frames are on the line.
    if (line != kWheel && !lines_[line].empty() &&
        entry.transit.due < lines_[line].back().transit.due) [[unlikely]]
      line = kWheel;
    if (line == kWheel) {
      wheel_.push(entry, now);
    } else {
      lines_[line].push(entry);
    }
    ++size_;
    if (entry.transit.due < next_) {
      next_ = entry.transit.due;
      next_line_ = line;
    }
    return true;
  }

  /// When the next frame is due; kNever when none waits.
  [[nodiscard]] Instant next() const noexcept { return next_; }
  /// The frame that is due next, and its removal; only when one waits.
  [[nodiscard]] const Entry& front() noexcept {
    return next_line_ == kWheel ? wheel_.front() : lines_[next_line_].front();
  }
  void pop() noexcept {
    if (next_line_ == kWheel) {
      wheel_.pop();
    } else {
      lines_[next_line_].pop();
    }
    --size_;
    find_next();
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// Every waiting frame, for reports.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& line : lines_)
      for (std::size_t i = 0; i < line.size(); ++i) visit(line[i]);
    wheel_.for_each(visit);
  }

 private:
  void find_next() noexcept {
    next_ = kNever;
    for (std::size_t line = 0; line < used_; ++line) {
      if (lines_[line].empty() || lines_[line].front().transit.due >= next_) continue;
      next_ = lines_[line].front().transit.due;
      next_line_ = static_cast<LineIndex>(line);
    }
    // Of two that are due at once the one that had to leave its line came before those behind.
    if (wheel_.empty() || wheel_.next() > next_) return;
    next_ = wheel_.next();
    next_line_ = kWheel;
  }

  std::size_t capacity_;
  std::size_t size_ = 0;
  std::size_t used_;
  std::vector<Ring<Entry>> lines_;
  WheelLine<Entry> wheel_;
  Instant next_ = kNever;
  LineIndex next_line_ = 0;
};

}  // namespace lw::path
