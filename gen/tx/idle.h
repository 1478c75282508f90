// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <ctime>
#include <sched.h>

#include <rte_pause.h>

#include "core/time.h"

namespace lw::gen {

/// Lets the time pass until something that is `ahead` comes near: asleep where that is allowed,
/// lending the core, or spinning. Returns early, so that the caller looks at signals and the clock.
inline void idle_towards(Duration ahead, bool may_sleep = true) noexcept {
  constexpr Duration kOverslept = std::chrono::microseconds(100);  // a timer is late by about that
  constexpr Duration kWorthYielding = std::chrono::microseconds(5);
  constexpr Duration kLongestNap = std::chrono::milliseconds(20);
  if (may_sleep && ahead > kOverslept) {
    const Duration nap = std::min(ahead - kOverslept, kLongestNap);
    const timespec time{0, static_cast<long>(nap.count())};
    nanosleep(&time, nullptr);
  } else if (ahead > kWorthYielding) {
    sched_yield();
  } else {
    rte_pause();
  }
}

}  // namespace lw::gen
