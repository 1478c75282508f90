// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/time.h"
#include "emulator/queue/line_bytes.h"
#include "emulator/queue/pause_watch.h"
#include "emulator/queue/ring.h"

namespace lw::emulator {

/// A link slower than the port, and the buffer in front of it.
struct BottleneckConfig {
  double rate_bps = 0;  // >= 1 kb/s
  // frames without FCS and overhead; 0 as long as a profile has only a rate and its delay, which
  // gives the buffer, is not read
  std::uint64_t buffer_bytes = 0;
  // bytes on the wire that each frame takes besides its own
  std::uint32_t overhead = kLineOverhead;
  std::uint32_t cell = 0, cell_overhead = 0;  // see LineCost
  std::optional<PauseConfig> pfc = {};

  [[nodiscard]] constexpr LineCost cost() const noexcept { return {overhead, cell, cell_overhead}; }
  friend bool operator==(const BottleneckConfig&, const BottleneckConfig&) = default;
};

/// The emulated queue: frames wait in the buffer and leave one after the other at the link's rate.
/// A frame that finds no room is dropped (tail drop). A frame is in the buffer until its last bit
/// has left.
///
/// The times of departure are known from a frame's arrival on, as long as nothing changes. A change
/// of the rate, and a pause, computes those of the waiting frames again, and that of the frame
/// whose bits are leaving: O(frames in the buffer). All else is O(1) per frame. `now` never
/// decreases. Nothing is allocated after construction.
class Bottleneck {
 public:
  static constexpr Instant kNever{Duration{std::numeric_limits<Duration::rep>::max()}};

  /// A frame in the buffer.
  struct Frame {
    Instant starts, ends;     // its bits leave from the one to the other, rounded down to ns
    Duration extra{};         // the caller's: see enqueue()
    std::uint32_t bytes = 0;  // in the buffer
    std::uint32_t row = 0;    // the caller's: see enqueue()
    double fraction = 0;      // of a nanosecond, by which it ends after `ends`

    /// The first full nanosecond at which it has left.
    [[nodiscard]] Instant departs() const noexcept { return ends + Duration{fraction > 0 ? 1 : 0}; }
  };

  explicit Bottleneck(const BottleneckConfig& config)
      : buffer_(config.buffer_bytes),
        cost_(config.cost()),
        ns_per_byte_(8e9 / config.rate_bps),
        inside_(most_inside(config)) {}

  /// Largest number of frames in the buffer.
  static std::size_t most_inside(const BottleneckConfig& config) noexcept {
    return static_cast<std::size_t>(config.buffer_bytes / kSmallestOnLine + 1);
  }
  /// Returns the memory that a queue allocates besides its own object, in bytes.
  static std::uint64_t bytes_needed(const BottleneckConfig& config) noexcept {
    return std::bit_ceil(most_inside(config)) * sizeof(Frame);
  }

  /// Admits a frame of `bytes`. Returns the time at which its last bit leaves; nothing if the
  /// buffer has no room. `row` and `extra` are kept with the frame for the caller.
  [[nodiscard]] std::optional<Instant> enqueue(std::uint32_t bytes, Instant now,
                                               std::uint32_t row = 0,
                                               Duration extra = {}) noexcept {
    const std::uint32_t held = on_the_line(bytes, 0);
    if (occupancy(now) + held > buffer_) return std::nullopt;
    Frame& frame = inside_.place();
    frame = {.starts = now, .ends = now, .extra = extra, .bytes = held, .row = row};
    place_behind(frame, std::max(now, paused_until_));
    occupied_ += held;
    return frame.departs();
  }

  /// The frame that departs next, the frame that was admitted last. Require !empty().
  [[nodiscard]] const Frame& front() const noexcept { return inside_.front(); }
  [[nodiscard]] const Frame& back() const noexcept { return inside_.back(); }
  [[nodiscard]] bool empty() const noexcept { return inside_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return inside_.size(); }
  /// Time at which the next frame has left; kNever if none waits.
  [[nodiscard]] Instant next_departure() const noexcept {
    return inside_.empty() ? kNever : inside_.front().departs();
  }
  /// Removes the frame that departs next.
  void pop() noexcept {
    occupied_ -= inside_.front().bytes;
    inside_.pop();
    inside_.rewind();
  }

  /// Removes the frame that was admitted last, as if it had never come.
  void withdraw() noexcept {
    const Frame& last = inside_.back();
    occupied_ -= last.bytes;
    free_ = last.starts;
    fraction_ = inside_.size() > 1 ? inside_[inside_.size() - 2].fraction : 0;
    inside_.withdraw(1);
  }

  /// Bytes in the buffer. Removes the frames that have departed.
  [[nodiscard]] std::uint64_t occupancy(Instant now) noexcept {
    while (next_departure() <= now) pop();
    return occupied_;
  }
  /// Bytes in the buffer; leaves the state unchanged, for readers.
  [[nodiscard]] std::uint64_t occupancy_at(Instant now) const noexcept {
    std::uint64_t left = occupied_;
    for (std::size_t i = 0; i < inside_.size() && inside_[i].departs() <= now; ++i)
      left -= inside_[i].bytes;
    return left;
  }

  /// Pauses the queue: no frame begins to leave before `until`; a frame that has begun is
  /// completed. An `until` in the past ends an earlier pause. O(frames in the buffer).
  void pause(Instant now, Instant until) noexcept {
    paused_until_ = until;
    static_cast<void>(occupancy(now));
    const std::size_t first = is_sending(now) ? 1 : 0;
    if (inside_.size() == first) return;
    const Instant resumes = std::max(until, first == 1 ? inside_.front().ends : now);
    const Duration by = resumes - inside_[first].starts;
    for (std::size_t i = first; i < inside_.size(); ++i) {
      inside_[i].starts += by;
      inside_[i].ends += by;
    }
    free_ += by;
  }
  [[nodiscard]] Instant paused_until() const noexcept { return paused_until_; }

  /// Sets the rate at which the next frames leave that are admitted (for a trace).
  void set_rate(double rate_bps) noexcept { ns_per_byte_ = 8e9 / rate_bps; }

  /// Takes over the frames of the queue that this one replaces at `now`, with their times, its
  /// pause and its rate. None is dropped, even if the buffer is now smaller.
  void take_over(Bottleneck& old, Instant now) noexcept {
    inside_.take_over(old.inside_);
    occupied_ = old.occupied_;
    paused_until_ = old.paused_until_;
    free_ = old.free_;
    fraction_ = old.fraction_;
    ns_per_byte_ = old.ns_per_byte_;
    static_cast<void>(occupancy(now));
  }

  /// Lets all frames leave at another rate from `now` on, also the rest of a frame whose bits are
  /// leaving, and sets their row to `row`. `leaving_bps`: the rate at which the bits of that frame,
  /// front(), left before. O(frames in the buffer).
  void change_rate(Instant now, double rate_bps, std::uint32_t row, double leaving_bps) noexcept {
    static_cast<void>(occupancy(now));
    set_rate(rate_bps);
    free_ = now;
    fraction_ = 0;
    std::size_t first = 0;
    if (is_sending(now)) {
      rescale(inside_[0], now, leaving_bps / rate_bps);
      inside_[0].row = row;
      free_ = inside_[0].ends;
      fraction_ = inside_[0].fraction;
      first = 1;
    }
    const Instant earliest = std::max(now, paused_until_);
    for (std::size_t i = first; i < inside_.size(); ++i) {
      inside_[i].row = row;
      place_behind(inside_[i], earliest);
    }
  }

 private:
  [[nodiscard]] bool is_sending(Instant now) const noexcept {
    return !inside_.empty() && inside_.front().starts <= now;
  }
  /// The bits of `frame` that have not left at `now` take `factor` times as long.
  static void rescale(Frame& frame, Instant now, double factor) noexcept {
    const double rest = (static_cast<double>((frame.ends - now).count()) + frame.fraction) * factor;
    const double whole = std::floor(rest);
    frame.ends = now + Duration{static_cast<Duration::rep>(whole)};
    frame.fraction = rest - whole;
  }
  /// Computes the times of `frame`, which leaves after all others, from `earliest` on.
  void place_behind(Frame& frame, Instant earliest) noexcept {
    if (earliest >= free_) {
      free_ = earliest;
      fraction_ = 0;
    }
    frame.starts = free_;
    const double takes = static_cast<double>(cost_.of(frame.bytes)) * ns_per_byte_ + fraction_;
    const auto whole = static_cast<Duration::rep>(takes);
    free_ += Duration{whole};
    fraction_ = takes - static_cast<double>(whole);
    frame.ends = free_;
    frame.fraction = fraction_;
  }

  std::uint64_t buffer_;
  LineCost cost_;
  double ns_per_byte_;
  std::uint64_t occupied_ = 0;
  Ring<Frame> inside_;
  Instant free_{Duration::min()};  // the link is busy until this time,
  double fraction_ = 0;            // plus this fraction of a nanosecond
  Instant paused_until_{Duration::min()};
};

}  // namespace lw::emulator
