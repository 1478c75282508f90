// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.h"
#include "emulator/queue/line.h"
#include "emulator/queue/ring.h"
#include "emulator/stages/pause.h"

namespace lw::emulator {

/// A link slower than the port, and the buffer before it.
struct BottleneckConfig {
  double rate_bps = 0;                     // >= 1 kb/s
  std::uint64_t buffer_bytes = 0;          // frames' bytes without FCS and overhead, > 0
  std::uint32_t overhead = kLineOverhead;  // bytes of line that each frame takes beside its own
  std::optional<PauseConfig> pfc = {};
  friend bool operator==(const BottleneckConfig&, const BottleneckConfig&) = default;
};

/// The emulated queue: frames leave one after the other at the link's rate, a frame that finds no
/// room is dropped (tail drop), and the delay is what the queue makes of it. A frame is in the
/// buffer until its last bit has left. O(1) a frame; nothing is allocated after construction.
class Bottleneck {
 public:
  explicit Bottleneck(const BottleneckConfig& config)
      : buffer_(config.buffer_bytes),
        overhead_(config.overhead),
        ns_per_byte_(8e9 / config.rate_bps),
        inside_(static_cast<std::size_t>(config.buffer_bytes / kSmallestOnLine + 1)) {}

  /// Bytes in the buffer. `now` never falls.
  [[nodiscard]] std::uint64_t occupancy(Instant now) noexcept {
    for (; !inside_.empty() && inside_.front().departs <= now; inside_.pop())
      occupied_ -= inside_.front().bytes;
    return occupied_;
  }

  /// When the frame's last bit leaves; nothing where the buffer has no room for it.
  [[nodiscard]] std::optional<Instant> enqueue(std::uint32_t bytes, Instant now) noexcept {
    const std::uint32_t held = on_the_line(bytes, 0);
    if (occupancy(now) + held > buffer_) return std::nullopt;
    if (now >= free_) {
      free_ = now;
      fraction_ = 0;
    }
    const Instant starts = free_;
    const double takes = on_the_line(bytes, overhead_) * ns_per_byte_ + fraction_;
    const auto whole = static_cast<Duration::rep>(takes);
    free_ += Duration{whole};
    fraction_ = takes - static_cast<double>(whole);
    // The first nanosecond at which it has left.
    const Instant departs = free_ + Duration{fraction_ > 0 ? 1 : 0};
    occupied_ += held;
    inside_.push({starts, free_, departs, held});
    return departs;
  }

  /// Nothing begins to leave before `until`; what has begun goes on to its end. An `until` in the
  /// past ends an earlier pause. `now` never falls. O(frames in the buffer).
  QueueShift pause(Instant now, Instant until) noexcept {
    static_cast<void>(occupancy(now));
    const bool sending = !inside_.empty() && inside_.front().starts <= now;
    const Instant resumes = std::max(until, sending ? inside_.front().ends : now);
    const std::size_t first = sending ? 1 : 0;
    if (inside_.size() == first) {
      if (free_ != resumes) fraction_ = 0;
      free_ = resumes;
      return {now, {}};
    }
    const QueueShift shift{sending ? inside_.front().departs : now,
                           resumes - inside_[first].starts};
    for (std::size_t i = first; i < inside_.size(); ++i) {
      Inside& waiting = inside_[i];
      waiting.starts += shift.by;
      waiting.ends += shift.by;
      waiting.departs += shift.by;
    }
    free_ += shift.by;
    return shift;
  }
  /// When the next frame has left. Only with occupancy().
  [[nodiscard]] Instant next_departure() const noexcept { return inside_.front().departs; }

  /// A new rate, from the next frame on (a trace's).
  void set_rate(double rate_bps) noexcept { ns_per_byte_ = 8e9 / rate_bps; }

 private:
  struct Inside {
    Instant starts, ends, departs;  // to the nanosecond: begun by, ended after, gone at
    std::uint32_t bytes = 0;
  };

  std::uint64_t buffer_;
  std::uint32_t overhead_;
  double ns_per_byte_;
  std::uint64_t occupied_ = 0;
  Ring<Inside> inside_;
  Instant free_{Duration::min()};  // the link is busy until then,
  double fraction_ = 0;            // and this part of a nanosecond more
};

}  // namespace lw::emulator
