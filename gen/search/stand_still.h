// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>

#include "core/time.h"
#include "gen/stats/run_stats.h"

namespace lw::gen {

/// Time in which what is between a sender and a receiver of this machine stood still, as a program
/// does that gets no core: nothing arrives, and the frame that ends the silence is late by as much.
/// A queue that is full delays each frame as the one before, and drops leave no silence.
class StandStill {
 public:
  /// Shorter times are not seen.
  static constexpr Duration kShortest = SendAudit::kLate;

  /// `gap`: mean time between two frames, as they are due.
  explicit StandStill(Duration gap) noexcept : silence_(std::max(kShortest, 4 * gap)) {}

  /// A frame that was sent at `sent` arrives at `now`, both by one clock. In the order of arrival.
  /// Returns the time that ends with this frame; 0: nothing stood still.
  Duration add(Instant sent, Instant now) noexcept;

 private:
  struct Arrival {
    Instant at;
    Duration latency;
  };
  Duration silence_;
  std::optional<Arrival> last_;
};

}  // namespace lw::gen
