// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ctime>

#include "core/time.h"

namespace lw::nic {

/// The machine's steady clock (CLOCK_MONOTONIC). All processes of a machine share it, so stamps of
/// one can be subtracted in another. Costs about 25 ns (vDSO, no system call).
inline Instant now() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return instant_from_ns(std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec);
}

/// Nanoseconds since 1970 (CLOCK_REALTIME), for stamps to compare with a wall clock. It may step;
/// measure intervals with now().
inline std::int64_t wall_clock_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace lw::nic
