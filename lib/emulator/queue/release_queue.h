// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "emulator/frame_access.h"
#include "emulator/queue/held.h"
#include "emulator/queue/ring.h"
#include "emulator/queue/wheel.h"
#include "emulator/transit.h"

namespace lw::emulator {

/// Frames in any order of release, with prefetch hints for those that are due soon.
template <class Entry, class Frames>
class WheelLine {
 public:
  explicit WheelLine(std::size_t capacity) : wheel_(capacity) {}

  /// See Wheel::take_over().
  void take_over(WheelLine& old, Instant now) noexcept { wheel_.take_over(old.wheel_, now); }
  void push(const Entry& entry, Instant now) noexcept { wheel_.push(entry, now); }
  void push(std::span<const Entry> entries, Instant now) noexcept { wheel_.push(entries, now); }
  [[nodiscard]] bool empty() const noexcept { return wheel_.empty(); }
  [[nodiscard]] Instant next() const noexcept { return wheel_.next(); }
  [[nodiscard]] const Entry& front() noexcept {
    if (wheel_.turn()) look_ahead();
    return wheel_.front();
  }
  void pop() noexcept { wheel_.pop(); }
  /// Takes frames from the front that are due by `last`, at most `most`. Returns their number.
  template <class Release>
  std::size_t take_due(Instant last, std::size_t most, Release release) noexcept {
    if (wheel_.turn()) look_ahead();
    const std::span<Entry> due = wheel_.due_by(last, most);
    release(due, nullptr);
    wheel_.pop(due.size());
    return due.size();
  }
  template <class Visit>
  void for_each(Visit visit) const {
    wheel_.for_each(visit);
  }

 private:
  /// Entries that waited for milliseconds have left the caches. Prefetches the entries of the next
  /// slots, then the frames they refer to.
  void look_ahead() noexcept {
    const std::int64_t tick = wheel_.tick();
    reach(items_, tick + 3, [&](std::int64_t slot) { wheel_.prefetch(slot); });
    reach(frames_, tick + 2, [&](std::int64_t slot) {
      wheel_.for_each_of(slot, [](const Entry& entry) { Frames::fetch(entry.handle); });
    });
  }
  /// Calls step for each slot once, up to `end`: from the last slot reached, or from the present
  /// one.
  template <class Step>
  void reach(std::int64_t& reached, std::int64_t end, Step step) noexcept {
    for (reached = std::max(reached, wheel_.tick()); reached < end;) step(++reached);
  }

  Wheel<Entry> wheel_;
  // last slot whose entries, and whose frames, were prefetched
  std::int64_t items_ = 0, frames_ = 0;
};

/// Frames that wait for their release, ordered by release time. Each stream of frames whose
/// releases are in order of arrival (constant delay, or varying delay that keeps the order) uses a
/// FIFO in a ring. All other frames share a timing wheel. The earliest of the fronts is next; O(1)
/// per frame. `Handle` refers to a frame, which the queue does not own. `Frames` is called to
/// prefetch frames that will soon be at the front.
template <class Handle, class Frames = NoFrameAccess<Handle>>
class ReleaseQueue {
 public:
  using Entry = QueueEntry<Handle, Frames>;
  static constexpr Instant kNever{Duration{std::numeric_limits<Duration::rep>::max()}};

  /// `capacity`: frames in total, in all FIFOs and the wheel. FIFOs from index `used` on are
  /// ignored until use() includes them.
  ReleaseQueue(std::size_t lines, std::size_t used, std::size_t capacity)
      : capacity_(capacity), used_(used), wheel_(capacity) {
    lines_.reserve(lines);
    for (std::size_t i = 0; i < lines; ++i) lines_.emplace_back(capacity);
  }

  /// Uses the first `lines` FIFOs from now on.
  void use(std::size_t lines) noexcept { used_ = std::max(used_, lines); }

  /// Takes over the frames of `old`, which has as many FIFOs. Requires that no frame waits here,
  /// and a capacity for all.
  void take_over(ReleaseQueue& old, Instant now) noexcept {
    for (std::size_t i = 0; i < lines_.size(); ++i) lines_[i].take_over(old.lines_[i]);
    wheel_.take_over(old.wheel_, now);
    use(old.used_);
    size_ = std::exchange(old.size_, 0);
    find_next();
    old.next_ = kNever;
  }

  /// Approximate memory use, in bytes.
  static std::uint64_t bytes_needed(std::size_t lines, std::size_t capacity) noexcept {
    const std::uint64_t in_lines = lines * std::bit_ceil(capacity) * sizeof(Entry);
    return in_lines + Wheel<Entry>::bytes_needed(capacity);
  }

  /// Returns true if frames that are due from `due` on, in ascending order, fit at the end of the
  /// FIFO. They may not after a change of configuration, as long as it holds older frames.
  [[nodiscard]] bool keeps(FifoIndex line, Instant due) const noexcept {
    return line != kWheel && (lines_[line].empty() || due >= lines_[line].back().due);
  }

  /// Adds a frame. Requires size() < capacity(). Due times in a FIFO ascend: a frame that is due
  /// earlier than the last goes to the wheel. `now` never decreases.
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

  /// Like push() of one entry, for one or more entries, with room for all. For a FIFO their due
  /// times ascend.
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

  /// Due time of the next frame; kNever if none waits.
  [[nodiscard]] Instant next() const noexcept { return next_; }
  /// The frame that is due next, and its removal. Requires that a frame waits.
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

  /// Removes the last `count` frames of a FIFO, which has as many, and calls use(entry) for each,
  /// from the last on.
  template <class Use>
  void take_back(FifoIndex line, std::size_t count, Use use) noexcept {
    for (; count > 0; --count, --size_) {
      use(lines_[line].back());
      lines_[line].withdraw(1);
    }
    find_next();
  }

  /// Removes frames that are due by `now`, at most `most`, in order. Passes them to
  /// `release(entries, next)`, several at a time; `next` is the entry after them in their FIFO, or
  /// nullptr.
  template <class Release>
  void take_due(Instant now, std::size_t most, Release release) noexcept {
    while (next_ <= now && most > 0) {
      // The next FIFO needn't be searched as long as no other has an earlier frame.
      const Instant rival = first_besides(next_line_);
      const std::size_t taken =
          next_line_ == kWheel
              ? wheel_.take_due(std::min(now, rival), most, release)
              : take_from(lines_[next_line_], std::min(now, rival - Duration{1}), most, release);
      most -= taken;
      size_ -= taken;
      find_next();
    }
  }

  /// Prefetches all that a device may read of the frame that is due next, if that is in a FIFO.
  void fetch_next() const noexcept {
    if (next_ != kNever && next_line_ != kWheel)
      Frames::fetch_all(lines_[next_line_].front().handle);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// Calls visit(entry) for every waiting frame, FIFO by FIFO: for reports.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& line : lines_)
      for (std::size_t i = 0; i < line.size(); ++i) visit(line[i]);
    wheel_.for_each(visit);
  }
  /// Calls visit(entry) for the frames in FIFOs; the visitor may change everything except due
  /// times.
  template <class Visit>
  void for_each_on_lines(Visit visit) {
    for (auto& line : lines_)
      for (std::size_t i = 0; i < line.size(); ++i) visit(line[i]);
  }

 private:
  // Prefetch distance in entries: frames that waited for milliseconds have left the caches.
  static constexpr std::size_t kAhead = 32;

  /// Prefetches as many frames as leave; `front` are the contiguous entries. (A larger distance, or
  /// one frame at a time between other work, costs more.)
  static void fetch(const Ring<Entry>& line, std::span<const Entry> front,
                    std::size_t count) noexcept {
    if (kAhead + count <= front.size()) [[likely]] {
      for (const Entry& entry : front.subspan(kAhead, count)) Frames::fetch(entry.handle);
    } else {
      for (std::size_t i = kAhead; i < std::min(line.size(), kAhead + count); ++i)
        Frames::fetch(line[i].handle);
    }
  }

  /// Takes entries from the front of a FIFO that are due by `last`, at most `most`, and in any case
  /// the first.
  template <class Release>
  static std::size_t take_from(Ring<Entry>& line, Instant last, std::size_t most,
                               Release release) noexcept {
    const std::span<Entry> front = line.contiguous();
    const std::size_t end = std::min({front.size(), most, kAhead});
    std::size_t count = 1;
    // Due times ascend: if the last of these entries is due, all are.
    if (front[end - 1].due <= last) count = end;
    while (count < end && front[count].due <= last) ++count;
    fetch(line, front, count);
    release(front.first(count), count < line.size() ? &line[count] : nullptr);
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
    // Of two frames due at the same time, the one in the wheel came first: it had to leave its
    // FIFO.
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
