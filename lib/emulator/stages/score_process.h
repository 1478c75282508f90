// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/chance.h"
#include "core/time.h"

namespace lw::emulator {

/// A standard normal variable that wanders in time: at any instant it is normal with mean 0 and
/// variance 1, and its correlation with itself falls by half in every half-life. It is a function
/// of time and its draws alone, whoever asks and however often.
///
/// Eight times in a half-life an autoregressive chain takes a step; in between the value is the
/// two neighbours' weighted mean, scaled back to variance 1. So it moves steadily, and a delay
/// that follows it keeps frames in order by itself as long as it changes by less than the time
/// that passes: no release has to be moved, so none is biased. (The idea is DPDS's.)
class ScoreProcess {
 public:
  /// half_life >= 8 ns. `chance`: one draw a step.
  ScoreProcess(Duration half_life, Chance chance) noexcept;

  /// The value at `t`. Cheap when `t` is in the same step as before, or soon after.
  [[nodiscard]] double at(Instant t) noexcept;

 private:
  [[nodiscard]] double innovation(std::int64_t step) const noexcept;
  /// The chain at `step`, where it was at `value` one step before.
  [[nodiscard]] double after(double value, std::int64_t step) const noexcept;
  [[nodiscard]] double chain_at(std::int64_t step) const noexcept;
  void move_to(std::int64_t step) noexcept;

  Chance chance_;
  std::int64_t step_ns_;
  double kept_;                    // the chain's correlation from step to step
  double renewed_;                 // sqrt(1 - kept^2)
  std::int64_t step_ = INT64_MAX;  // none yet
  double here_ = 0, next_ = 0;     // the chain at step_ and one further
};

}  // namespace lw::emulator
