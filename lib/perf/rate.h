// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"

namespace lw::perf {

/// Returns the rate of `bytes` in `time`, in bit/s; 0 if no time has passed.
constexpr double rate_bps(std::uint64_t bytes, Duration time) noexcept {
  const auto ns = static_cast<double>(time.count());
  return ns > 0 ? static_cast<double>(bytes) * 8e9 / ns : 0;
}

}  // namespace lw::perf
