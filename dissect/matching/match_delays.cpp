// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/match_delays.h"

namespace lw::dissect {

/// The fit behind the last step before a frame.
const ClockFit& MatchDelays::fit_of(const CaptureRecord& far) const noexcept {
  std::size_t part = 0;
  while (part < steps_.size() && steps_[part].far_order <= far.order) ++part;
  return clocks_[part];
}

std::optional<std::int64_t> MatchDelays::delay_ns(const CaptureRecord& near,
                                                  const CaptureRecord& far,
                                                  bool goes_far) const noexcept {
  if (clocks_.empty()) {
    const std::int64_t delta = far_minus_near(near, far);
    return goes_far ? delta : -delta;
  }
  const ClockFit& fit = fit_of(far);
  if (fit.is_refused()) return std::nullopt;
  return fit.delay_ns(near, far, goes_far);
}

std::int64_t MatchDelays::near_clock_ns(const CaptureRecord& far) const noexcept {
  if (clocks_.empty()) return far.stamp_ns;
  return stamp_difference(far.stamp_ns, fit_of(far).far_ahead_ns(far));
}

}  // namespace lw::dissect
