// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network/deadlock.h"

#include <algorithm>
#include <map>
#include <set>

namespace lw::sim {
namespace {

/// Ports that are silent, each with the ports that it waits for.
using Waits = std::map<SwitchPort, std::vector<SwitchPort>>;

constexpr Duration kShortest = std::chrono::milliseconds(1);

const PortEnd& end_of(const Network& network, const SwitchPort& at) {
  return network.ports_at(at.node)[at.port];
}

/// Ten round trips of a port's cable, or 1 ms if that is longer.
Duration silence_of(const Network& network, const SwitchPort& at) {
  constexpr int kRoundTrips = 10;
  const Duration delay = network.topology().cables[end_of(network, at).cable].delay;
  return std::max(kShortest, kRoundTrips * 2 * delay);
}

/// The port's packets in the switch that it leads to wait for these ports.
std::vector<SwitchPort> waits_for(Network& network, const SwitchPort& at) {
  const PortEnd& end = end_of(network, at);
  if (network.topology().is_host(end.to)) return {};
  const auto& far = network.ports_at(end.to);
  const auto input = std::ranges::find(far, end.cable, &PortEnd::cable) - far.begin();
  std::vector<SwitchPort> ports;
  for (const std::uint16_t output :
       network.switch_at(end.to).outputs_of(static_cast<std::uint16_t>(input)))
    ports.push_back({end.to, output});
  return ports;
}

Waits silent_ports(Network& network) {
  Waits waits;
  const Topology& topology = network.topology();
  for (auto node = static_cast<Node>(topology.hosts.size()); node < topology.nodes(); ++node) {
    const Switch& at = network.switch_at(node);
    for (std::uint16_t port = 0; port < at.ports(); ++port) {
      const Instant since = at.stalled_since(port);
      if (since == Instant::max()) continue;
      if (network.now() - since >= silence_of(network, {node, port}))
        waits.emplace(SwitchPort{node, port}, std::vector<SwitchPort>{});
    }
  }
  return waits;
}

/// Leaves the ports that wait for nothing but other ones of them: no packet between them can move.
void keep_blocked(Network& network, Waits& waits) {
  for (auto& [port, next] : waits) next = waits_for(network, port);
  const auto moves = [&](const auto& each) {
    return each.second.empty() || !std::ranges::all_of(each.second, [&](const SwitchPort& p) {
             return waits.contains(p);
           });
  };
  while (std::erase_if(waits, moves) > 0) continue;
}

/// Follows the first wait of each port from `first` on, until a port comes again.
std::vector<SwitchPort> cycle_from(const Waits& waits, SwitchPort first,
                                   std::set<SwitchPort>& seen) {
  std::vector<SwitchPort> way;
  for (SwitchPort at = first; seen.insert(at).second; at = waits.at(at).front()) way.push_back(at);
  if (way.empty()) return {};
  const auto again = std::ranges::find(way, waits.at(way.back()).front());
  return {again, way.end()};  // empty: it leads into a cycle that was found before
}

}  // namespace

std::vector<Deadlock> deadlocks_of(Network& network) {
  Waits waits = silent_ports(network);
  keep_blocked(network, waits);
  std::vector<Deadlock> found;
  std::set<SwitchPort> seen;
  for (const auto& [port, next] : waits) {
    Deadlock deadlock{.cycle = cycle_from(waits, port, seen), .since = {}};
    Duration silence{};
    for (const SwitchPort& each : deadlock.cycle) {
      silence = std::max(silence, silence_of(network, each));
      deadlock.since =
          std::max(deadlock.since, network.switch_at(each.node).stalled_since(each.port));
    }
    if (!deadlock.cycle.empty() && network.now() - deadlock.since >= silence)
      found.push_back(std::move(deadlock));
  }
  return found;
}

}  // namespace lw::sim
