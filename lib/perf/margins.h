// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"
#include "perf/rate.h"

namespace lw::perf {

/// The bytes of a run of a given time that complete between two margins: one at its start and one
/// at its end.
class Margins {
 public:
  /// `margin`: less than half of `run`; 0: no margins.
  Margins(Duration run, Duration margin) noexcept
      : first_end_(margin), last_start_(run - margin), any_(margin > Duration{}) {}

  [[nodiscard]] bool any() const noexcept { return any_; }
  /// `bytes` are complete `elapsed` after the start. Call it at each completion.
  void note(Duration elapsed, std::uint64_t bytes) noexcept {
    if (elapsed <= first_end_) early_ = bytes;
    if (elapsed <= last_start_) within_ = bytes;
  }
  /// Bytes that completed between the margins, and the time between them.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return within_ - early_; }
  [[nodiscard]] Duration time() const noexcept { return last_start_ - first_end_; }
  /// Returns the mean rate between the margins, in bit/s. Requires any().
  [[nodiscard]] double average_bps() const noexcept { return rate_bps(bytes(), time()); }

 private:
  Duration first_end_, last_start_;  // from the start of the run
  bool any_;
  std::uint64_t early_ = 0, within_ = 0;  // complete at these times
};

}  // namespace lw::perf
