// SPDX-License-Identifier: BSD-3-Clause
#include "perf/result.h"

#include <algorithm>
#include <cmath>

namespace lw::perf {

void keep_measurable(BandwidthResult& result, double link_bps) noexcept {
  constexpr double kRounding = 1e-3;
  result.peak_bps = std::min(result.peak_bps, std::max(link_bps, result.steady_bps));
  if (result.steady_bps <= link_bps * (1 + kRounding)) return;
  result.steady_bps = result.peak_bps = 0;
  result.steady_interval = std::nullopt;
}

void LatencyResult::add(Duration latency) {
  const std::int64_t count = latency.count();
  ns.add(count);
  sum_ns += static_cast<double>(count);
  squares += static_cast<double>(count) * static_cast<double>(count);
}

double LatencyResult::deviation_ns() const noexcept {
  const auto n = static_cast<double>(ns.count());
  if (n == 0) return 0;
  const double mean = sum_ns / n;
  return std::sqrt(std::max(0.0, squares / n - mean * mean));
}

}  // namespace lw::perf
