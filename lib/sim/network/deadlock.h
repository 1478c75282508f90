// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "sim/network/network.h"

namespace lw::sim {

/// A port of a switch.
struct SwitchPort {
  Node node = 0;
  std::uint16_t port = 0;
  friend auto operator<=>(const SwitchPort&, const SwitchPort&) = default;
};

/// A PFC deadlock: each port is paused by the switch that it leads to, where all packets that came
/// from it wait for the next port; the last one waits for the first. None of them can send again.
struct Deadlock {
  std::vector<SwitchPort> cycle;
  Instant since;  // none of the ports has sent a frame since then
};

/// Returns the deadlocks of a network at its present time. The ports of a cycle have been silent
/// for ten of its longest round trips, and for 1 ms: less may be a long queue elsewhere.
std::vector<Deadlock> deadlocks_of(Network& network);

}  // namespace lw::sim
