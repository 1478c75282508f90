// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ctime>

#include "core/time.h"

namespace lw::nic {

/// Returns the time of the machine's steady clock (CLOCK_MONOTONIC). All processes of a machine
/// share it, so times of different processes can be subtracted. Takes about 25 ns (vDSO, no system
/// call).
inline Instant now() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return instant_from_ns(std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec);
}

/// Returns nanoseconds since 1970 (CLOCK_REALTIME), for stamps that are compared with a wall clock.
/// It may step: measure intervals with now().
inline std::int64_t wall_clock_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace lw::nic
