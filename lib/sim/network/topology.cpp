// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network/topology.h"

#include <cmath>
#include <deque>

namespace lw::sim {

using transport::Packet;

std::vector<std::vector<PortEnd>> ports_of(const Topology& topology) {
  std::vector<std::vector<PortEnd>> ports(topology.nodes());
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    const CableConfig& cable = topology.cables[i];
    ports[cable.a].push_back({.cable = i, .to = cable.b, .forward = true});
    ports[cable.b].push_back({.cable = i, .to = cable.a, .forward = false});
  }
  return ports;
}

Routes::Routes(const Topology& topology)
    : hosts_(topology.hosts.size()), next_(topology.nodes() * hosts_) {
  const auto ports = ports_of(topology);
  constexpr auto kFar = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t host = 0; host < hosts_; ++host) {
    std::vector<std::uint32_t> cables(topology.nodes(), kFar);  // from each node to the host
    cables[host] = 0;
    std::deque<Node> reached{static_cast<Node>(host)};
    for (; !reached.empty(); reached.pop_front()) {
      const Node node = reached.front();
      if (node != host && topology.is_host(node)) continue;  // hosts do not forward
      for (const PortEnd& port : ports[node]) {
        if (cables[port.to] != kFar) continue;
        cables[port.to] = cables[node] + 1;
        reached.push_back(port.to);
      }
    }
    for (std::size_t node = 0; node < topology.nodes(); ++node) {
      if (node == host || cables[node] == kFar) continue;
      for (std::uint16_t i = 0; i < ports[node].size(); ++i) {
        const Node to = ports[node][i].to;
        if (topology.is_host(to) && to != host) continue;
        if (cables[to] != kFar && cables[to] + 1 == cables[node])
          next_[node * hosts_ + host].push_back(i);
      }
    }
  }
}

std::uint16_t Routes::choose(Node node, const Packet& packet) const noexcept {
  const auto& ways = next(node, packet.to_host);
  if (ways.size() == 1) return ways.front();
  std::uint64_t hash = transport::source_port_of(packet);
  hash |= std::uint64_t{packet.from_host} << 16 | std::uint64_t{packet.to_host} << 32 |
          std::uint64_t{node} << 48;
  // The finalizer of MurmurHash3: every bit of the input changes half of the bits.
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
  return ways[(hash ^ hash >> 33) % ways.size()];
}

std::uint64_t headroom_of(const CableConfig& cable, Duration latency, std::uint32_t mtu) noexcept {
  constexpr double kHeaders = 128;  // of a packet on the link, rounded up
  const auto ns = static_cast<double>((2 * cable.delay + latency).count());
  return static_cast<std::uint64_t>(
      std::ceil(cable.rate_bps / 8 * ns * 1e-9 + 2 * (mtu + kHeaders)));
}

Duration latency_into(const Topology& topology, Node from, Node to, Duration nic_latency) noexcept {
  const Duration leaving = topology.is_host(from) ? nic_latency : Duration{};
  return leaving + (topology.is_host(to) ? nic_latency
                                         : topology.switches[to - topology.hosts.size()].latency);
}

}  // namespace lw::sim
