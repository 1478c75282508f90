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

/// What frames cost on a link: bytes besides each frame's own, and cells of a fixed size, the last
/// of which is filled up (as with ATM and some DSL lines; netem's `cellsize`).
struct LineCost {
  std::uint32_t overhead = kLineOverhead;
  std::uint32_t cell = 0;           // bytes that a cell carries; 0: no cells
  std::uint32_t cell_overhead = 0;  // bytes of a cell besides

  /// Returns the bytes on the link of a frame of `bytes` (without FCS).
  [[nodiscard]] constexpr std::uint64_t of(std::uint32_t bytes) const noexcept {
    const std::uint32_t all = on_the_line(bytes, overhead);
    if (cell == 0) [[likely]]
      return all;
    return std::uint64_t{(all + cell - 1) / cell} * (std::uint64_t{cell} + cell_overhead);
  }
  friend constexpr bool operator==(const LineCost&, const LineCost&) = default;
};

}  // namespace lw::emulator
