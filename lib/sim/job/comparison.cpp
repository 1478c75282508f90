// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/comparison.h"

namespace lw::sim {

Topology in_one_site(Topology topology) {
  constexpr Duration kKilometre{4'900};  // of fibre, see emulator::fibre_delay()
  for (CableConfig& cable : topology.cables)
    if (cable.delay >= kKilometre) cable.delay = {};
  return topology;
}

Topology ideal_network(const Topology& topology) {
  Topology ideal;
  ideal.hosts = topology.hosts;
  ideal.host_class.assign(topology.hosts.size(), 0);
  constexpr std::uint64_t kBuffer = 256ull << 20;
  ideal.switches.push_back({.name = "ideal", .buffer_bytes = kBuffer});
  const auto middle = static_cast<Node>(topology.hosts.size());
  for (const CableConfig& cable : topology.cables)
    for (const Node end : {cable.a, cable.b})
      if (topology.is_host(end))
        ideal.cables.push_back({.a = end, .b = middle, .rate_bps = cable.rate_bps, .delay = {}});
  return ideal;
}

}  // namespace lw::sim
