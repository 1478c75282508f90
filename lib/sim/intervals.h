// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "core/time.h"
#include "perf/interval.h"

namespace lw::sim {

/// What is called at the end of each interval of a run, in virtual time.
struct IntervalListener {
  /// `totals`: of the run so far. `window`: latencies of the interval; null in a bandwidth run.
  using Ended = std::function<void(Instant at, const perf::IntervalTotals& totals,
                                   const perf::LatencyWindow* window)>;
  Duration every{};  // 0: nothing is called
  Ended ended = {};  // a whole interval
  Ended rest = {};   // the last, shorter one, with the end of the run
};

/// The end of the present interval of a run that begins at 0.
class Intervals {
 public:
  explicit Intervals(const IntervalListener& listener)
      : listener_(listener),
        next_(listener.every > Duration{} ? Instant{} + listener.every : Instant::max()) {}

  [[nodiscard]] bool due(Instant now) const noexcept {
    return next_ <= now && next_ != Instant::max();
  }
  [[nodiscard]] Instant next() const noexcept { return next_; }
  void end(const perf::IntervalTotals& totals, const perf::LatencyWindow* window) {
    listener_.ended(next_, totals, window);
    next_ += listener_.every;
  }
  void end_last(Instant now, const perf::IntervalTotals& totals,
                const perf::LatencyWindow* window) const {
    if (listener_.every > Duration{}) listener_.rest(now, totals, window);
  }

 private:
  const IntervalListener& listener_;
  Instant next_;
};

}  // namespace lw::sim
