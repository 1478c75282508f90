// SPDX-License-Identifier: BSD-3-Clause
#include "perf/rate_meter.h"

#include <algorithm>

namespace lw::perf {

void RateMeter::note(Duration elapsed, BandwidthResult& result) noexcept {
  result.elapsed = elapsed;
  margins_.note(elapsed, result.bytes);
  if (half_at_ > Duration{}) return;
  const bool half =
      duration_ > Duration{} ? elapsed >= duration_ / 2 : result.messages >= (messages_ + 1) / 2;
  if (!half) return;
  half_at_ = elapsed;
  half_bytes_ = result.bytes;
}

void RateMeter::finish(BandwidthResult& result, std::uint64_t window, bool whole) const noexcept {
  result.average_bps =
      margins_.any() && whole ? margins_.average_bps() : result.bps_of(result.bytes);
  const bool measurable =
      half_at_ > Duration{} && result.failed == 0 && result.messages >= 4 * window;
  if (!measurable) return;
  result.steady_bps = rate_bps(result.bytes - half_bytes_, result.elapsed - half_at_);
  if (result.steady_bps > 0)
    result.peak_bps = std::max(result.steady_bps, rate_bps(half_bytes_, half_at_));
}

}  // namespace lw::perf
