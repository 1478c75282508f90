// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace lw::emulator {

/// Most rows of a trace, without comments: each needs about 150 bytes while it is read.
inline constexpr std::size_t kMostRows = 500'000;
/// Most bins of a measured distribution of delays: netem's tables have 4,096 values, and each of
/// 7,000 quantiles looks at all bins.
inline constexpr std::size_t kMostBins = 16'384;
/// Most frames in flight for which memory is computed: more than any machine holds.
inline constexpr std::uint64_t kMostInFlight = std::uint64_t{1} << 43;

}  // namespace lw::emulator
