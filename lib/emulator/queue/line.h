// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

namespace lw::emulator {

inline constexpr std::uint32_t kFcsBytes = 4;
/// Ethernet's smallest frame without FCS; a shorter one is padded to it on the line.
inline constexpr std::uint32_t kSmallestOnLine = 60;
/// What a line carries beside a frame's bytes: preamble and start delimiter 8, gap 12, FCS 4.
inline constexpr std::uint32_t kLineOverhead = 24;

/// The bytes of line that a frame of `bytes` (without FCS) takes.
constexpr std::uint32_t on_the_line(std::uint32_t bytes, std::uint32_t overhead) noexcept {
  return std::max(bytes, kSmallestOnLine) + overhead;
}

}  // namespace lw::emulator
