// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace lw::dissect {

/// Longest file with the counters of ports (--counters), in bytes: 1,000 ports take 4 MiB.
inline constexpr std::size_t kLongestCounters = std::size_t{16} << 20;

}  // namespace lw::dissect
