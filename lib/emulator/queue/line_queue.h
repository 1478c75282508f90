// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/huge_pages.h"
#include "core/prefetch.h"
#include "core/time.h"
#include "emulator/queue/buffer_pool.h"
#include "emulator/queue/class_scheduler.h"
#include "emulator/queue/line_bytes.h"
#include "emulator/queue/line_clock.h"

namespace lw::emulator {

struct QueueClassConfig {
  ServiceOrder order = {};
  BufferShare buffer = {};
  friend bool operator==(const QueueClassConfig&, const QueueClassConfig&) = default;
};

/// A link, the buffer in front of it, and the classes in which frames wait.
struct LineQueueConfig {
  std::uint64_t rate_bps = 0;      // 1 kb/s .. 10^15 b/s
  std::uint64_t buffer_bytes = 0;  // of all classes, reserves included; without FCS and overhead
  LineCost cost = {};
  std::uint32_t quantum_bytes = 1500;          // see ClassScheduler
  std::vector<QueueClassConfig> classes = {};  // 1..kMostQueueClasses

  /// The bytes that no class has for itself. Requires that the reserves fit into the buffer.
  [[nodiscard]] std::uint64_t pool_bytes() const noexcept {
    std::uint64_t left = buffer_bytes;
    for (const QueueClassConfig& c : classes) left -= c.buffer.reserve_bytes;
    return left;
  }
  friend bool operator==(const LineQueueConfig&, const LineQueueConfig&) = default;
};

/// When a frame was on the link.
struct LineTimes {
  Instant starts, ends;  // its bits left from the one to the other, rounded down to ns
  Instant departs;       // the first full nanosecond at which it has left
  bool follows;          // it started directly after another frame
};

/// The queue in front of one link, in which the frames of one class or of several wait. Of several,
/// ClassScheduler chooses the class that sends next, when the link becomes free: a frame that
/// arrives in that nanosecond or later is not considered. With one class the departure of a frame
/// is known when it arrives, as long as nothing changes: last_departure(). A frame is in the buffer
/// until its last bit has left. A frame that finds no room is refused (tail drop). Frames are
/// marked by bytes() when they arrive, or by SentFrame::behind_bytes when they leave (see Red).
///
/// The owner takes departures with depart() up to `now` before it calls anything else with this
/// `now`; `now` never decreases. Handle is trivially copyable. One thread; nothing is allocated
/// after construction. A call takes O(classes).
template <class Handle>
class LineQueue {
 public:
  static constexpr Instant kNever{Duration{std::numeric_limits<Duration::rep>::max()}};

  /// A frame that has left.
  struct SentFrame {
    const Handle& handle;  // valid until the next enqueue() or take_over()
    std::uint32_t bytes;   // in the buffer
    std::uint32_t cls;     // its class
    LineTimes times;
    std::uint64_t behind_bytes;    // that are still in its class,
    std::uint64_t in_queue_bytes;  // and in all classes
  };

  /// The queue's buffer is its own, or, with `pool`, has the reserves for itself and the rest in
  /// common with others: then config.buffer_bytes only bounds what this queue holds. `pool` must
  /// outlive the queue.
  explicit LineQueue(const LineQueueConfig& config, BufferPool* pool = nullptr)
      : pool_(config.pool_bytes()),
        outside_(pool),
        buffer_(config.buffer_bytes),
        cost_(config.cost),
        quantum_(config.quantum_bytes),
        config_rate_(config.rate_bps),
        rate_(config.rate_bps),
        classes_(config.classes.size()),
        all_classes_(classes_),
        slots_(most_inside(config)),
        free_slots_(slots_.size()),
        state_(config.rate_bps),
        ahead_(config.rate_bps) {
    for (std::size_t c = 0; c < classes_; ++c) {
      orders_[c] = config.classes[c].order;
      shares_[c] = config.classes[c].buffer;
    }
    state_.scheduler.configure(std::span(orders_).first(classes_), quantum_);
  }

  /// Largest number of frames in the buffer.
  static std::size_t most_inside(const LineQueueConfig& config) noexcept {
    return static_cast<std::size_t>(config.buffer_bytes / kSmallestOnLine + 1);
  }
  /// Returns the memory that a queue allocates besides its own object, in bytes.
  static std::uint64_t bytes_needed(const LineQueueConfig& config) noexcept {
    return most_inside(config) * (sizeof(Frame) + sizeof(Slot));
  }

  /// Admits a frame of `bytes` to class `cls`. Returns false if the buffer has no room for it.
  [[nodiscard]] bool enqueue(std::uint32_t cls, std::uint32_t bytes, const Handle& handle,
                             Instant now) noexcept {
    Handle* const place = admit(cls, bytes, now);
    if (place) *place = handle;
    return place != nullptr;
  }
  /// The same for a large handle, which the caller writes to the place that is returned; null if
  /// there is no room.
  [[nodiscard]] Handle* admit(std::uint32_t cls, std::uint32_t bytes, Instant now) noexcept {
    const std::uint32_t held = on_the_line(bytes, 0);
    if (!has_room(cls, held)) return nullptr;
    Handle* place = nullptr;
    if (is_fifo()) {
      put_together({&held, 1}, now, [&](Handle& handle, Instant) { place = &handle; });
    } else {
      place = &append(state_.backlogs[cls], held, LineClock(rate_)).handle;
      count(cls, held, 1, now);
    }
    return place;
  }
  /// Admits frames that come together, for which has_room_for_all() is true, and calls
  /// write(handle, departs) for the handle of each: see last_departure(). `held`: the bytes of each
  /// in the buffer, at least one frame. Requires is_fifo().
  template <class Write>
  void put_together(std::span<const std::uint32_t> held, Instant now, Write write) noexcept {
    Backlog& backlog = state_.backlogs[0];
    // In registers: a processor waits for parts of a clock that it stores and then copies whole.
    LineClock clock = ahead_from(now);
    std::uint64_t all = 0;
    for (const std::uint32_t bytes : held) {
      clock.set_rate(rate_);
      clock.send(time_of(clock, cost_.of(bytes)));
      write(append(backlog, bytes, clock).handle, clock.ended());
      all += bytes;
    }
    ahead_ = clock;
    count(0, all, held.size(), now);
  }

  /// True if all frames leave in the order in which they came: there is one class.
  [[nodiscard]] bool is_fifo() const noexcept { return all_classes_ == 1; }
  /// When the frame that has just been admitted will have left if nothing changes. Requires
  /// is_fifo().
  [[nodiscard]] Instant last_departure() const noexcept { return ahead_.ended(); }
  /// The rate at which frames leave that are admitted from now on (for a trace).
  void set_rate(std::uint64_t rate_bps) noexcept { rate_ = rate_bps; }

  /// True if a frame of `bytes`, as the buffer counts them, has room in a class.
  [[nodiscard]] bool has_room(std::uint32_t cls, std::uint32_t bytes) const noexcept {
    return state_.bytes + bytes <= buffer_ &&
           pool().has_room(shares_[cls], state_.backlogs[cls].bytes, bytes);
  }
  /// True if has_room() is true for each of several frames of `bytes` in all.
  [[nodiscard]] bool has_room_for_all(std::uint32_t cls, std::uint64_t bytes) const noexcept {
    return state_.bytes + bytes <= buffer_ &&
           pool().has_room_for_all(shares_[cls], state_.backlogs[cls].bytes, bytes);
  }
  /// When the next frame that comes at `now` leaves at the earliest. Requires is_fifo().
  [[nodiscard]] Instant earliest_departure(Instant now) const noexcept {
    return state_.frames > 0 ? std::max(now, ahead_.ended()) : now;
  }

  /// Removes the next frame that has left by `now`, and calls use(sent); returns false if there is
  /// none. (A frame that is returned costs a simulated packet 6 % of its time for copies.)
  template <class Use>
  bool depart(Instant now, Use use) noexcept {
    return step(state_, now, [&](const SentFrame& sent, Slot slot) {
      free_slots_[free_count_++] = slot;
      pool().give_back(shares_[sent.cls], sent.behind_bytes + sent.bytes, sent.bytes);
      use(sent);
    });
  }
  /// When depart() must be called next: a frame has left then, or a pause ends; kNever if
  /// nothing waits.
  [[nodiscard]] Instant next_event() const noexcept {
    return state_.sending ? state_.line.ended() : first_resume(state_);
  }

  /// Bytes on the link of the frame that is being sent, as far as they have left by `now`; 0 if
  /// none is.
  [[nodiscard]] double sent_part(Instant now) const noexcept {
    if (!state_.sending || now <= state_.starts) return 0;
    const auto all = static_cast<double>((state_.line.ended() - state_.starts).count());
    const double share = static_cast<double>((now - state_.starts).count()) / all;
    const std::uint32_t bytes = slots_[state_.backlogs[state_.cls].first].bytes;
    return std::min(share, 1.0) * static_cast<double>(cost_.of(bytes));
  }

  /// Calls visit(sent) for each frame inside, as it will leave if nothing changes.
  template <class Visit>
  void foresee(Visit visit) const noexcept {
    State ahead = state_;
    while (step(ahead, kNever, [&](const SentFrame& sent, Slot) { visit(sent); })) continue;
  }

  /// Calls visit(handle) for each frame inside, which may change the handle.
  template <class Visit>
  void for_each(Visit visit) noexcept {
    for (const Backlog& backlog : state_.backlogs)
      for (Slot slot = backlog.first; slot != kNone; slot = slots_[slot].next)
        visit(slots_[slot].handle);
  }
  /// The handle of the frame that was admitted last to a class that is not empty.
  [[nodiscard]] Handle& last(std::uint32_t cls) noexcept {
    return slots_[state_.backlogs[cls].last].handle;
  }

  /// Pauses a class: none of its frames begins to leave before `until`; a frame that has begun is
  /// completed. An `until` in the past ends an earlier pause. No frame starts before the next
  /// depart(), so that all classes that one pause frame resumes take part.
  void pause(std::uint32_t cls, Instant now, Instant until) noexcept {
    state_.backlogs[cls].paused_until = std::max(now, until);
    look_ahead();
  }
  [[nodiscard]] Instant paused_until(std::uint32_t cls) const noexcept {
    return state_.backlogs[cls].paused_until;
  }

  /// Lets all frames leave at another rate from `now` on, also the rest of a frame whose bits are
  /// leaving. O(frames in the buffer).
  void change_rate(Instant now, std::uint64_t rate_bps) noexcept {
    rate_ = rate_bps;
    state_.line.change_rate(now, rate_bps);
    for (const Backlog& backlog : state_.backlogs)
      for (Slot slot = backlog.first; slot != kNone; slot = slots_[slot].next)
        slots_[slot].line = LineClock(rate_bps);
    look_ahead();
  }

  /// Takes over the frames of the queue that this one replaces at `now`, with their pauses. None is
  /// dropped, even if the buffer is now smaller. If the configured rate differs they leave at the
  /// new one: see change_rate(). Frames of a class that no longer exists stay in it, with its
  /// priority and weight; they take their room from the pool. Turns and credits continue if
  /// priorities, weights and quantum are the same.
  void take_over(LineQueue& old, Instant now) noexcept {
    const std::size_t before = old.all_classes_;
    const bool same_turns =
        quantum_ == old.quantum_ && before == all_classes_ &&
        std::equal(orders_.begin(), orders_.begin() + before, old.orders_.begin());
    old.pool().subtract(old.taken_from_pool());
    keep_removed_classes(old);
    const ClassScheduler turns = state_.scheduler;
    state_ = old.state_;
    take_slots(old);
    old.state_ = State(old.state_.line.rate_bps());
    for (std::size_t c = all_classes_; c < kMostQueueClasses; ++c) state_.backlogs[c] = {};
    if (all_classes_ > classes_) {
      state_.scheduler.configure(std::span(orders_).first(all_classes_), quantum_);
    } else if (!same_turns) {
      state_.scheduler = turns;
    }
    pool().add(taken_from_pool());
    if (config_rate_ != old.config_rate_) return change_rate(now, config_rate_);
    rate_ = old.rate_;
    look_ahead();
  }

  /// Bytes in a class, in all classes; frames in all classes.
  [[nodiscard]] std::uint64_t bytes(std::uint32_t cls) const noexcept {
    return state_.backlogs[cls].bytes;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return state_.bytes; }
  [[nodiscard]] std::size_t size() const noexcept { return state_.frames; }

 private:
  using Slot = std::uint32_t;
  static constexpr Slot kNone = std::numeric_limits<Slot>::max();

  struct Frame {
    Handle handle;
    LineClock line{1};  // its rate; with one class, the clock when the frame has left
    std::uint32_t bytes;
    Slot next;  // of its class
  };
  /// The frames of one class, in order of arrival.
  struct Backlog {
    Slot first = kNone, last = kNone;
    std::uint64_t bytes = 0;
    Instant paused_until{Duration::min()};
  };
  /// All that changes when frames leave, so that foresee() can go ahead with a copy.
  struct State {
    explicit State(std::uint64_t rate_bps) noexcept : line(rate_bps) {}

    std::array<Backlog, kMostQueueClasses> backlogs{};
    std::uint64_t bytes = 0;
    std::size_t frames = 0;
    ClassScheduler scheduler{};
    LineClock line;
    bool sending = false, follows = false;
    std::uint32_t cls = 0;  // that sends
    Instant starts{};       // of the frame that is being sent
  };

  [[nodiscard]] BufferPool& pool() noexcept { return outside_ ? *outside_ : pool_; }
  [[nodiscard]] const BufferPool& pool() const noexcept { return outside_ ? *outside_ : pool_; }

  /// Removes the next frame from `s` that has left by `now`, lets the next one start, and calls
  /// use(sent, slot). Returns false if there is none.
  template <class Use>
  bool step(State& s, Instant now, Use use) const noexcept {
    if (!s.sending) resume(s, now);
    if (!s.sending || s.line.ended() > now) return false;
    Backlog& backlog = s.backlogs[s.cls];
    const Slot slot = backlog.first;
    const Frame& frame = slots_[slot];
    backlog.first = frame.next;
    if (backlog.first == kNone) backlog.last = kNone;
    backlog.bytes -= frame.bytes;
    s.bytes -= frame.bytes;
    --s.frames;
    const SentFrame sent{frame.handle,  frame.bytes,
                         s.cls,         {s.starts, s.line.end(), s.line.ended(), s.follows},
                         backlog.bytes, s.bytes};
    choose(s, true);
    use(sent, slot);
    return true;
  }
  /// Lets a frame start when the pause of its class has ended, while the link is idle.
  void resume(State& s, Instant now) const noexcept {
    if (s.frames == 0) return;
    const Instant at = first_resume(s);
    if (at > now) return;
    s.line.idle_until(std::max(at, s.line.ended()));
    choose(s, false);
  }
  /// When the first pause ends of the classes with frames; kNever without frames.
  [[nodiscard]] Instant first_resume(const State& s) const noexcept {
    Instant first = kNever;
    if (s.frames == 0) return first;
    for (const Backlog& backlog : std::span(s.backlogs).first(all_classes_))
      if (backlog.first != kNone) first = std::min(first, backlog.paused_until);
    return first;
  }
  /// Lets the next frame start when the line is free.
  void choose(State& s, bool follows) const noexcept {
    const Instant at = s.line.end();
    const auto ready = [&](std::uint32_t c) {
      return s.backlogs[c].first != kNone && s.backlogs[c].paused_until <= at;
    };
    s.follows = follows;
    s.starts = at;
    if (is_fifo()) {
      s.sending = ready(0);
      s.cls = 0;
      if (s.sending) s.line = slots_[s.backlogs[0].first].line;
      return;
    }
    const auto next = s.scheduler.next(
        ready, [&](std::uint32_t c) { return cost_.of(slots_[s.backlogs[c].first].bytes); });
    s.sending = next.has_value();
    if (!next) return;
    s.cls = *next;
    const Frame& frame = slots_[s.backlogs[s.cls].first];
    if (frame.next != kNone) prefetch(&slots_[frame.next]);  // a long queue is not in the caches
    send(s.line, frame);
  }
  void send(LineClock& line, const Frame& frame) const noexcept {
    line.set_rate(frame.line.rate_bps());
    line.send(time_of(line, cost_.of(frame.bytes)));
  }
  /// line.time_of(bytes). Frames of few lengths are common, and a division takes half the time in
  /// which a frame is admitted (9 of 18 ns).
  const LineTime& time_of(const LineClock& line, std::uint64_t bytes) const noexcept {
    LineTime& known = times_[bytes / 4 % times_.size()];
    if (known.bytes != bytes || known.rate_bps != line.rate_bps()) known = line.time_of(bytes);
    return known;
  }
  /// Counts frames that were appended, of `bytes` in all, and lets the first start if the link is
  /// idle.
  void count(std::uint32_t cls, std::uint64_t bytes, std::size_t frames, Instant now) noexcept {
    Backlog& backlog = state_.backlogs[cls];
    pool().reserve(shares_[cls], backlog.bytes, bytes);
    backlog.bytes += bytes;
    state_.bytes += bytes;
    state_.frames += frames;
    if (state_.sending) return;
    // A frame may be admitted after others have left that came later.
    state_.line.idle_until(std::max(now, state_.line.ended()));
    choose(state_, false);
  }
  /// The clock that is ahead of the link, for a frame that comes at `now`.
  [[nodiscard]] LineClock ahead_from(Instant now) const noexcept {
    if (state_.frames > 0) return ahead_;
    LineClock clock = state_.line;
    clock.idle_until(std::max({now, clock.ended(), state_.backlogs[0].paused_until}));
    return clock;
  }
  /// Finds the departure of the last frame anew. O(frames in the buffer).
  void look_ahead() noexcept {
    if (!is_fifo() || state_.frames == 0) return;
    const Backlog& backlog = state_.backlogs[0];
    ahead_ = state_.line;
    const Slot next = state_.sending ? slots_[backlog.first].next : backlog.first;
    if (!state_.sending || backlog.paused_until > ahead_.end())
      ahead_.idle_until(std::max(ahead_.ended(), backlog.paused_until));
    for (Slot slot = next; slot != kNone; slot = slots_[slot].next) {
      send(ahead_, slots_[slot]);
      slots_[slot].line = ahead_;
    }
  }

  /// Bytes that the classes hold of the pool.
  [[nodiscard]] std::uint64_t taken_from_pool() const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t c = 0; c < all_classes_; ++c)
      sum += shares_[c].of_pool(state_.backlogs[c].bytes);
    return sum;
  }
  void keep_removed_classes(const LineQueue& old) noexcept {
    all_classes_ = classes_;
    for (std::size_t c = classes_; c < old.all_classes_; ++c)
      if (old.state_.backlogs[c].first != kNone) all_classes_ = c + 1;
    for (std::size_t c = classes_; c < all_classes_; ++c) {
      // An empty class between them must not change the weights of others.
      orders_[c] = old.state_.backlogs[c].first != kNone ? old.orders_[c] : orders_[0];
      shares_[c] = {};
    }
  }
  /// Takes the frames of `old`, whose state is already this queue's: with their memory if it is not
  /// smaller.
  void take_slots(LineQueue& old) noexcept {
    if (old.slots_.size() >= slots_.size()) {
      std::swap(slots_, old.slots_);
      std::swap(free_slots_, old.free_slots_);
      free_count_ = std::exchange(old.free_count_, 0);
      used_slots_ = std::exchange(old.used_slots_, 0);
      return;
    }
    for (Backlog& backlog : state_.backlogs) {
      Slot from = std::exchange(backlog.first, kNone);
      for (backlog.last = kNone; from != kNone; from = old.slots_[from].next)
        append(backlog, old.slots_[from].bytes, old.slots_[from].line).handle =
            old.slots_[from].handle;
    }
  }
  Frame& append(Backlog& backlog, std::uint32_t bytes, const LineClock& line) noexcept {
    const Slot slot = free_count_ > 0 ? free_slots_[--free_count_] : used_slots_++;
    Frame& frame = slots_[slot];
    frame.line = line;
    frame.bytes = bytes;
    frame.next = kNone;
    (backlog.last == kNone ? backlog.first : slots_[backlog.last].next) = slot;
    backlog.last = slot;
    return frame;
  }

  BufferPool pool_;
  BufferPool* outside_;
  std::uint64_t buffer_;
  LineCost cost_;
  std::uint32_t quantum_;
  std::uint64_t config_rate_, rate_;   // of the configuration; of frames that are admitted now
  std::size_t classes_, all_classes_;  // of the configuration; and removed ones that have frames
  std::array<ServiceOrder, kMostQueueClasses> orders_{};
  std::array<BufferShare, kMostQueueClasses> shares_{};
  HugeArray<Frame> slots_;
  HugeArray<Slot> free_slots_;  // of those that have been used
  std::size_t free_count_ = 0;
  Slot used_slots_ = 0;  // slots that have been used, from the first on
  State state_;
  mutable std::array<LineTime, 16> times_{};  // of frames that were sent: see time_of()
  LineClock ahead_;  // with one class: when all that are inside will have left
};

}  // namespace lw::emulator
