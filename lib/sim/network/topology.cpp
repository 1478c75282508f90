// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network/topology.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

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

std::vector<std::string> cable_suffixes(const Topology& topology) {
  std::map<std::pair<Node, Node>, std::vector<std::uint32_t>> parallel;
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i)
    parallel[std::minmax(topology.cables[i].a, topology.cables[i].b)].push_back(i);
  std::vector<std::string> suffixes(topology.cables.size());
  for (const auto& [ends, cables] : parallel)
    for (std::size_t k = 0; cables.size() > 1 && k < cables.size(); ++k)
      suffixes[cables[k]].assign(1, '#').append(std::to_string(k + 1));
  return suffixes;
}

Routes::Routes(const Topology& topology)
    : hosts_(topology.hosts.size()),
      next_(topology.nodes() * hosts_),
      only_(next_.size(), kSeveral) {
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
  for (std::size_t i = 0; i < next_.size(); ++i)
    if (next_[i].size() == 1 || (!topology.ecmp && !next_[i].empty())) only_[i] = next_[i].front();
}

std::uint16_t Routes::choose_of_several(Node node, const Packet& packet) const noexcept {
  const auto& ways = next(node, packet.to_host);
  std::uint64_t hash = transport::source_port_of(packet);
  hash |= std::uint64_t{packet.from_host} << 16 | std::uint64_t{packet.to_host} << 32 |
          std::uint64_t{node} << 48;
  // The finalizer of MurmurHash3: every bit of the input changes half of the bits.
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
  return ways[(hash ^ hash >> 33) % ways.size()];
}

Duration pause_response(double rate_bps) noexcept {
  struct Limit {
    double bps;
    double quanta;  // of 512 bit times
  };
  constexpr Limit kLimits[] = {{1e8, 1},    {1e9, 2},     {10e9, 67},   {25e9, 80},  {40e9, 118},
                               {50e9, 147}, {100e9, 394}, {200e9, 453}, {400e9, 905}};
  const auto* limit =
      std::ranges::find_if(kLimits, [&](const Limit& l) { return rate_bps <= l.bps; });
  if (limit == std::end(kLimits)) --limit;
  return Duration{static_cast<std::int64_t>(std::ceil(limit->quanta * 512 / rate_bps * 1e9))};
}

Duration response_to(const SwitchConfig& config, const CableConfig& cable) noexcept {
  return config.response.value_or(pause_response(cable.rate_bps));
}

Headroom headroom_of(const CableConfig& cable, Duration response, Duration latency,
                     std::uint32_t mtu) noexcept {
  constexpr std::uint32_t kHeaders = 128;  // of a packet on the link, rounded up
  constexpr std::uint32_t kPauseFrame = 64 + 20;
  constexpr double kRounding = 1e-3;  // bytes
  const auto bytes_in = [&](Duration time) {
    return static_cast<std::uint64_t>(
        std::ceil(cable.rate_bps / 8 * static_cast<double>(time.count()) * 1e-9 - kRounding));
  };
  return {.cable = bytes_in(2 * cable.delay),
          .frame_here = mtu + kHeaders,
          .pause_frame = kPauseFrame,
          .response = bytes_in(response),
          .frame_there = mtu + kHeaders,
          .interfaces = bytes_in(latency)};
}

Headroom headroom_of(const Topology& topology, Node node, const PortEnd& port, Duration nic_latency,
                     std::uint32_t mtu) noexcept {
  const CableConfig& cable = topology.cables[port.cable];
  const SwitchConfig& config = topology.switches[node - topology.hosts.size()];
  return headroom_of(cable, response_to(config, cable),
                     latency_into(topology, port.to, node, nic_latency), mtu);
}

Duration latency_into(const Topology& topology, Node from, Node to, Duration nic_latency) noexcept {
  const Duration leaving = topology.is_host(from) ? nic_latency : Duration{};
  return leaving + (topology.is_host(to) ? nic_latency
                                         : topology.switches[to - topology.hosts.size()].latency);
}

}  // namespace lw::sim
