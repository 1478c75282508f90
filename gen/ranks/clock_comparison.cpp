// SPDX-License-Identifier: BSD-3-Clause
#include "gen/ranks/clock_comparison.h"

namespace lw::gen {

void ClockComparison::add(Instant sent, Instant theirs, Instant received) noexcept {
  ++result_.round_trips;
  const Duration took = received - sent;
  if (took >= shortest_) return;
  shortest_ = took;
  const Duration half = took / 2;
  result_.ahead = theirs - (sent + half);
  result_.bound = took - half;  // rounded up
}

}  // namespace lw::gen
