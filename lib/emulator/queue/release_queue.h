// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "emulator/frame_access.h"
#include "emulator/queue/ring.h"
#include "emulator/queue/wheel.h"
#include "emulator/transit.h"

namespace lw::emulator {

/// The frames of one rule that are held back until `overtaking` later ones have gone on. They
/// leave in the order in which they came. One thread; nothing is allocated after construction.
template <class Entry>
class Held {
 public:
  Held(std::size_t overtaking, Duration at_most)
      : overtaking_(overtaking), at_most_(at_most), waiting_(overtaking + 1) {}

  /// Holds frames back in the same way.
  [[nodiscard]] bool same_as(const Held& other) const noexcept {
    return overtaking_ == other.overtaking_ && at_most_ == other.at_most_;
  }
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }
  [[nodiscard]] const Entry& operator[](std::size_t i) const noexcept { return waiting_[i].entry; }

  /// Only for a frame that gone_on() was just called for.
  void hold(const Entry& entry) noexcept { waiting_.push({entry, passed_ + overtaking_}); }
  /// A frame of the rule goes on (or is about to be held).
  void gone_on() noexcept { ++passed_; }
  /// Enough have overtaken the first. Only when not empty(), as are the next three.
  [[nodiscard]] bool overtaken() const noexcept { return waiting_.front().until <= passed_; }
  /// When the first frame leaves even if too few frames have overtaken it.
  [[nodiscard]] Instant deadline() const noexcept { return waiting_.front().entry.due + at_most_; }
  [[nodiscard]] const Entry& front() const noexcept { return waiting_.front().entry; }
  void pop() noexcept { waiting_.pop(); }

 private:
  struct Waiting {
    Entry entry;
    std::uint64_t until = 0;  // passed_ when it may go
  };

  std::size_t overtaking_;
  Duration at_most_;
  Ring<Waiting> waiting_;
  std::uint64_t passed_ = 0;
};

/// Frames whose releases come in no order, and hints to the processor of which it will need soon.
template <class Entry, class Frames>
class WheelLine {
 public:
  explicit WheelLine(std::size_t capacity) : wheel_(capacity) {}

  void push(const Entry& entry, Instant now) noexcept { wheel_.push(entry, now); }
  void push(std::span<const Entry> entries, Instant now) noexcept { wheel_.push(entries, now); }
  [[nodiscard]] bool empty() const noexcept { return wheel_.empty(); }
  [[nodiscard]] Instant next() const noexcept { return wheel_.next(); }
  [[nodiscard]] const Entry& front() noexcept {
    if (wheel_.turn()) look_ahead();
    return wheel_.front();
  }
  void pop() noexcept { wheel_.pop(); }
  /// Those at the front that are due by `last`, `most` at most; how many they were.
  template <class Take>
  std::size_t take_due(Instant last, std::size_t most, Take take) noexcept {
    if (wheel_.turn()) look_ahead();
    const std::span<Entry> due = wheel_.due_by(last, most);
    take(due, nullptr);
    wheel_.pop(due.size());
    return due.size();
  }
  template <class Visit>
  void for_each(Visit visit) const {
    wheel_.for_each(visit);
  }

 private:
  /// What waited for milliseconds has left the caches: of the slots to come first the items are
  /// fetched, then the frames that they stand for.
  void look_ahead() noexcept {
    const std::int64_t tick = wheel_.tick();
    reach(items_, tick + 3, [&](std::int64_t slot) { wheel_.prefetch(slot); });
    reach(frames_, tick + 2, [&](std::int64_t slot) {
      wheel_.for_each_of(slot, [](const Entry& entry) { Frames::fetch(entry.handle); });
    });
  }
  /// Each slot once, from where it had got to or from the present on.
  template <class Step>
  void reach(std::int64_t& reached, std::int64_t end, Step step) noexcept {
    for (reached = std::max(reached, wheel_.tick()); reached < end;) step(++reached);
  }

  Wheel<Entry> wheel_;
  std::int64_t items_ = 0, frames_ = 0;  // the last slot that was fetched
};

/// Frames that wait for their release, in the order of it. Where releases come in the order of
/// arrivals (a constant delay, or a varying one that keeps the order) a ring is a queue: a line for
/// each such stream of frames. All others share a timing wheel. The least of the fronts is next;
/// O(1) a frame. `Handle` refers to a frame, which the queue does not own. `Frames` is called for
/// those that will soon be at the front.
template <class Handle, class Frames = NoFrameAccess<Handle>>
class ReleaseQueue {
 public:
  using Entry = QueueEntry<Handle, Frames>;
  static constexpr Instant kNever{Duration{std::numeric_limits<Duration::rep>::max()}};

  /// `capacity` frames in all, on whichever line. Lines from `used` on are looked at once use() has
  /// said so.
  ReleaseQueue(std::size_t lines, std::size_t used, std::size_t capacity)
      : capacity_(capacity), used_(used), wheel_(capacity) {
    lines_.reserve(lines);
    for (std::size_t i = 0; i < lines; ++i) lines_.emplace_back(capacity);
  }

  /// The first `lines` are used from now on.
  void use(std::size_t lines) noexcept { used_ = std::max(used_, lines); }

  /// What it takes, a little more or less.
  static std::uint64_t bytes_needed(std::size_t lines, std::size_t capacity) noexcept {
    const std::uint64_t in_lines = lines * std::bit_ceil(capacity) * sizeof(Entry);
    return in_lines + Wheel<Entry>::bytes_needed(capacity);
  }

  /// Whether frames that are due at `due`, and rise, wait on the line. (Seen not to after a change
  /// of configuration, for as long as older frames are on it.)
  [[nodiscard]] bool keeps(FifoIndex line, Instant due) const noexcept {
    return line != kWheel && (lines_[line].empty() || due >= lines_[line].back().due);
  }

  /// Takes a frame in. Only with less than `capacity` frames inside. On one line due times rise
  /// from one to the next: a frame that would break that waits on the wheel. `now` never falls.
  void push(FifoIndex line, const Entry& entry, Instant now) noexcept {
    if (!keeps(line, entry.due)) line = kWheel;
    ++size_;
    if (entry.due < next_) {
      next_ = entry.due;
      next_line_ = line;
    }
    if (line == kWheel) {
      wheel_.push(entry, now);
    } else {
      lines_[line].push(entry);
    }
  }

  /// The same for many, of which there is at least one, and room for all. On a line their due times
  /// rise.
  void push(FifoIndex line, std::span<const Entry> entries, Instant now) noexcept {
    if (line != kWheel && !keeps(line, entries.front().due)) [[unlikely]] {
      for (const Entry& entry : entries) push(line, entry, now);
      return;
    }
    size_ += entries.size();
    Instant first = entries.front().due;
    if (line == kWheel) {
      wheel_.push(entries, now);
      first = wheel_.next();
    } else {
      lines_[line].push(entries);
    }
    if (first < next_) {
      next_ = first;
      next_line_ = line;
    }
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

  /// Removes the frames that are due by `now`, at most so many, in order; `take(entries, next)` has
  /// them, a span at a time, and sees the one that is behind them on their line, or nullptr.
  template <class Take>
  void take_due(Instant now, std::size_t most, Take take) noexcept {
    while (next_ <= now && most > 0) {
      // As long as no other line comes in between it needn't be looked for.
      const Instant rival = first_besides(next_line_);
      const std::size_t taken =
          next_line_ == kWheel
              ? wheel_.take_due(std::min(now, rival), most, take)
              : take_from(lines_[next_line_], std::min(now, rival - Duration{1}), most, take);
      most -= taken;
      size_ -= taken;
      find_next();
    }
  }

  /// Fetches the frame that is due next, all that a device may read of it, where it is on a line.
  void fetch_next() const noexcept {
    if (next_ != kNever && next_line_ != kWheel)
      Frames::fetch_all(lines_[next_line_].front().handle);
  }

  /// What waits on a line and is due after `after` is put off, or forward where `by` is negative,
  /// but not to before what is due until then. O(frames that are).
  void shift(FifoIndex line, Instant after, Duration by) noexcept {
    Ring<Entry>& frames = lines_[line];
    for (std::size_t i = frames.size(); i-- > 0 && frames[i].due > after;) frames[i].due += by;
    if (size_ > 0) find_next();
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// Every waiting frame, line by line, for reports.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& line : lines_)
      for (std::size_t i = 0; i < line.size(); ++i) visit(line[i]);
    wheel_.for_each(visit);
  }
  /// The same of those on lines, which may be changed but for when they are due.
  template <class Visit>
  void for_each_on_lines(Visit visit) {
    for (auto& line : lines_)
      for (std::size_t i = 0; i < line.size(); ++i) visit(line[i]);
  }

 private:
  // What waited for milliseconds has left the caches: so far ahead it is fetched.
  static constexpr std::size_t kAhead = 32;

  /// As many as leave, `front` being those that lie side by side. (Fetched further ahead, or a
  /// frame at a time while others are worked on, they cost more.)
  static void fetch(const Ring<Entry>& line, std::span<const Entry> front,
                    std::size_t count) noexcept {
    if (kAhead + count <= front.size()) [[likely]] {
      for (const Entry& entry : front.subspan(kAhead, count)) Frames::fetch(entry.handle);
    } else {
      for (std::size_t i = kAhead; i < std::min(line.size(), kAhead + count); ++i)
        Frames::fetch(line[i].handle);
    }
  }

  /// Those at the front of a line that are due by `last`, `most` at most, and the first one anyway.
  template <class Take>
  static std::size_t take_from(Ring<Entry>& line, Instant last, std::size_t most,
                               Take take) noexcept {
    const std::span<Entry> front = line.contiguous();
    const std::size_t end = std::min({front.size(), most, kAhead});
    std::size_t count = 1;
    // Due times rise: where the last of some is due, all of them are.
    if (front[end - 1].due <= last) count = end;
    while (count < end && front[count].due <= last) ++count;
    fetch(line, front, count);
    take(front.first(count), count < line.size() ? &line[count] : nullptr);
    line.pop(count);
    return count;
  }
  [[nodiscard]] Instant first_besides(FifoIndex except) const noexcept {
    Instant first = except == kWheel || wheel_.empty() ? kNever : wheel_.next();
    for (std::size_t line = 0; line < used_; ++line)
      if (line != except && !lines_[line].empty())
        first = std::min(first, lines_[line].front().due);
    return first;
  }
  void find_next() noexcept {
    next_ = kNever;
    for (std::size_t line = 0; line < used_; ++line) {
      if (lines_[line].empty() || lines_[line].front().due >= next_) continue;
      next_ = lines_[line].front().due;
      next_line_ = static_cast<FifoIndex>(line);
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
  WheelLine<Entry, Frames> wheel_;
  Instant next_ = kNever;
  FifoIndex next_line_ = 0;
};

}  // namespace lw::emulator
