// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

namespace lw::emulator {

inline constexpr std::uint32_t kFcsBytes = 4;
/// Ethernet's smallest frame without FCS; shorter frames are padded on the wire.
inline constexpr std::uint32_t kSmallestOnLine = 60;
/// Bytes on the wire besides a frame's own: preamble and start delimiter 8, gap 12, FCS 4.
inline constexpr std::uint32_t kLineOverhead = 24;

/// Returns the bytes on the wire of a frame of `bytes` (without FCS).
constexpr std::uint32_t on_the_line(std::uint32_t bytes, std::uint32_t overhead) noexcept {
  return std::max(bytes, kSmallestOnLine) + overhead;
}

}  // namespace lw::emulator
