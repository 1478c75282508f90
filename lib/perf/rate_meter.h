// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "perf/config.h"
#include "perf/margins.h"
#include "perf/result.h"

namespace lw::perf {

/// Measures the rates of a real run. The first half fills the path and the queues; the second half
/// gives the steady rate.
class RateMeter {
 public:
  /// `messages`: of a run without a duration.
  RateMeter(const PerfConfig& config, std::uint64_t messages) noexcept
      : duration_(config.duration), messages_(messages), margins_(config.duration, config.margin) {}

  /// A message has completed `elapsed` after the start of the run; `result` counts it already.
  void note(Duration elapsed, BandwidthResult& result) noexcept;
  /// Computes the rates. `window`: messages that are outstanding at once; the steady rate of fewer
  /// than four windows is unknown, as half of them is mostly one burst of completions. `whole`:
  /// the run was not cut short.
  void finish(BandwidthResult& result, std::uint64_t window, bool whole) const noexcept;

 private:
  Duration duration_;
  std::uint64_t messages_;
  Margins margins_;
  Duration half_at_{};  // 0: the first half is not over
  std::uint64_t half_bytes_ = 0;
};

}  // namespace lw::perf
