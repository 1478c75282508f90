// SPDX-License-Identifier: BSD-3-Clause
#include "nic/arrival_clock.h"

#include "nic/clock.h"

namespace lw::nic {

BothClocks BothClocks::read() noexcept {
  constexpr Duration kUndisturbed{500};
  constexpr int kReadings = 3;
  BothClocks best{};
  Duration shortest = Duration::max();
  for (int i = 0; i < kReadings && shortest > kUndisturbed; ++i) {
    const Instant before = nic::now();
    const std::int64_t wall_ns = wall_clock_ns();
    const Duration took = nic::now() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, wall_ns};
  }
  return best;
}

}  // namespace lw::nic
