// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace lw::dissect {

/// Longest file with the counters of ports (--counters), in bytes: 1,000 ports take 4 MiB.
inline constexpr std::size_t kLongestCounters = std::size_t{16} << 20;

/// Frames of a capture point that are compared with those of another one: 42 bytes each, and a
/// match has 29 bits for the order of one.
inline constexpr std::size_t kMostRecords = std::size_t{1} << 29;

}  // namespace lw::dissect
