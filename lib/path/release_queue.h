// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "path/ring.h"
#include "path/transit.h"

namespace lw::path {

/// Frames that wait for their release, in the order of it. With a constant delay releases come in
/// the order of arrivals, so a ring is a queue: one line a distinct delay, O(1) a frame, and the
/// least of the lines' fronts is next. `Handle` is whatever stands for a frame; it isn't owned.
template <class Handle>
class ReleaseQueue {
 public:
  struct Entry {
    Transit transit;
    Handle handle;
  };
  static constexpr Instant kNever{Duration{std::numeric_limits<Duration::rep>::max()}};

  /// `capacity` frames in all, on whichever line.
  ReleaseQueue(std::size_t lines, std::size_t capacity)
      : capacity_(capacity), lines_(lines, Ring<Entry>(capacity)) {}

  /// False, with nothing done, when `capacity` frames wait already. On one line the due times
  /// must not fall from one push to the next.
  [[nodiscard]] bool push(std::size_t line, const Transit& transit, Handle handle) noexcept {
    if (size_ == capacity_) return false;
    lines_[line].push({transit, handle});
    ++size_;
    if (transit.due < next_) {
      next_ = transit.due;
      next_line_ = line;
    }
    return true;
  }

  /// When the next frame is due; kNever when none waits.
  [[nodiscard]] Instant next() const noexcept { return next_; }
  /// The frame that is due next, and its removal; only when one waits.
  [[nodiscard]] const Entry& front() const noexcept { return lines_[next_line_].front(); }
  void pop() noexcept {
    lines_[next_line_].pop();
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
  }

 private:
  void find_next() noexcept {
    next_ = kNever;
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      if (lines_[line].empty() || lines_[line].front().transit.due >= next_) continue;
      next_ = lines_[line].front().transit.due;
      next_line_ = line;
    }
  }

  std::size_t capacity_;
  std::size_t size_ = 0;
  std::vector<Ring<Entry>> lines_;
  Instant next_ = kNever;
  std::size_t next_line_ = 0;
};

}  // namespace lw::path
