// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace lw {
struct FigureTable;
}

namespace lw::emulator {

/// RED on a queue, like DCQCN's congestion point: the probability depends on the bytes
/// in the buffer. It is 0 up to kmin and 1 above kmax. In between it rises to `share` (a ramp), or
/// is `share` (a step).
struct Red {
  std::uint64_t kmin_bytes = 0, kmax_bytes = 0;  // kmin <= kmax
  double share = 1;
  bool step = false;
  /// The bytes count that are behind a frame when it leaves the queue, not those that it finds when
  /// it comes.
  bool on_leaving = false;

  /// The probability that a frame is marked.
  [[nodiscard]] constexpr double probability(double queued) const noexcept {
    const auto low = static_cast<double>(kmin_bytes), high = static_cast<double>(kmax_bytes);
    if (queued <= low) return 0;
    if (queued > high) return 1;
    return step ? share : share * (queued - low) / (high - low);
  }
  friend bool operator==(const Red&, const Red&) = default;
  static const FigureTable& figures();
};

}  // namespace lw::emulator
