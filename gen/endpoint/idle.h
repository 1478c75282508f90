// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "core/time.h"

namespace lw::gen {

/// What an endpoint does while nothing moves: it polls for a while after whatever moved last, and
/// again around the time at which, by the last pauses, something will move: over a path the same
/// answer takes the same time. In between it naps. A nap ends late, by 20 us in a guest, by more
/// the longer its core has been idle; what is polled for is seen at once. No clock.
class Idle {
 public:
  enum class Rest { poll, nap, sleep };

  /// A turn moved something.
  void moved(Instant now) noexcept {
    const Duration pause = now - moved_;
    moved_ = now;
    if (pause < kPolled || pause > kAwake) return;
    pauses_[next_++ % pauses_.size()] = pause;
    const auto [least, most] = std::ranges::minmax(pauses_);
    foreseen_ = most - least <= kAlike;
    from_ = least - kMargin;
    to_ = most + kMargin;
  }
  /// A turn moved nothing.
  [[nodiscard]] Rest rest(Instant now) const noexcept {
    const Duration pause = now - moved_;
    if (pause < kPolled || (foreseen_ && pause >= from_ && pause <= to_)) return Rest::poll;
    return pause < kAwake ? Rest::nap : Rest::sleep;
  }

 private:
  static constexpr Duration kPolled = std::chrono::microseconds(100);
  static constexpr Duration kMargin = std::chrono::microseconds(150);
  static constexpr Duration kAlike = std::chrono::microseconds(500);
  static constexpr Duration kAwake = std::chrono::milliseconds(500);

  Instant moved_;
  std::array<Duration, 4> pauses_{};  // the last ones
  std::size_t next_ = 0;
  bool foreseen_ = false;  // they were much alike
  Duration from_{}, to_{};
};

}  // namespace lw::gen
