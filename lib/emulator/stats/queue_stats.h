// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"
#include "emulator/queue/line_queue.h"

namespace lw::emulator {

/// Counters of the emulated queue's departures. Frames directly after each other have the spacing
/// of the link's rate.
struct QueueStats {
  std::uint64_t frames = 0, busy_frames = 0, busy_bytes = 0, busy_ns = 0, busy_periods = 0;

  /// Adds a frame that has departed, and came in at `came`. Returns true if it left directly after
  /// another.
  bool add(std::uint64_t line_bytes, Instant came, const LineTimes& times) noexcept {
    const bool behind_another = frames++ > 0 && last_ > came && times.starts == last_end_;
    if (behind_another) {
      if (!busy_) ++busy_periods;
      ++busy_frames;
      busy_bytes += line_bytes;
      busy_ns += static_cast<std::uint64_t>((times.departs - last_).count());
    }
    busy_ = behind_another;
    last_ = times.departs;
    last_end_ = times.ends;
    return busy_;
  }

 private:
  Instant last_{}, last_end_{};
  bool busy_ = false;
};

}  // namespace lw::emulator
