// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <ctime>
#include <sched.h>

#include <rte_pause.h>

#include "core/time.h"

namespace lw::gen {

/// Idles for part of the time `ahead` until the next event: sleeps if `may_sleep`, else yields the
/// core, or spins. Returns early, so that the caller checks signals and the clock.
inline void idle_towards(Duration ahead, bool may_sleep = true) noexcept {
  constexpr Duration kWakeUp = std::chrono::microseconds(100);  // about a timer's delay
  constexpr Duration kWorthYielding = std::chrono::microseconds(5);
  constexpr Duration kLongestSleep = std::chrono::milliseconds(20);
  if (may_sleep && ahead > kWakeUp) {
    const Duration sleep = std::min(ahead - kWakeUp, kLongestSleep);
    const timespec time{0, static_cast<long>(sleep.count())};
    nanosleep(&time, nullptr);
  } else if (ahead > kWorthYielding) {
    sched_yield();
  } else {
    rte_pause();
  }
}

}  // namespace lw::gen
