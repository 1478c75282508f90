// SPDX-License-Identifier: BSD-3-Clause
#include "perf/interval.h"

namespace lw::perf {

void IntervalTotals::add(const transport::QueuePair& pair) noexcept {
  const transport::Requester& requester = pair.requester();
  const transport::RequesterCounters& counters = requester.counters();
  packets += counters.packets;
  retransmitted += counters.retransmitted;
  losses += counters.sequence_naks + counters.implied_naks + counters.timeouts;
  round_trips += requester.round_trip();
  measured += requester.round_trip() > Duration{} ? 1 : 0;
}

}  // namespace lw::perf
