// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network/network.h"

#include <algorithm>

namespace lw::sim {

Network::Network(const Topology& topology, const perf::NicConfig& nic,
                 const transport::Memory& memory, std::uint32_t mtu, std::uint64_t seed)
    : topology_(topology),
      routes_(topology_),
      ports_(ports_of(topology_)),
      host_pauses_(topology_.hosts.size()),
      nic_latency_(nic.latency) {
  add_links(nic);
  add_hosts(nic, memory, seed);
  add_switches(mtu, seed);
}

std::uint32_t Network::add_source(const Source& source) {
  sources_.push_back(source);
  return events_.add();
}

/// The delay of a link includes those of the NICs and of the switch at its ends.
void Network::add_links(const perf::NicConfig& nic) {
  const auto port_of = [&](Node node, std::uint32_t cable) {
    const auto& ports = ports_[node];
    const auto found = std::ranges::find(ports, cable, &PortEnd::cable);
    return static_cast<std::uint16_t>(found - ports.begin());
  };
  for (std::uint32_t i = 0; i < topology_.cables.size(); ++i) {
    const CableConfig& cable = topology_.cables[i];
    for (const auto& [from, to] : {std::pair{cable.a, cable.b}, std::pair{cable.b, cable.a}}) {
      SimLinkConfig config;
      config.delay = cable.delay + latency_into(topology_, from, to, nic.latency);
      const auto number = static_cast<std::uint32_t>(links_.size());
      links_.push_back({std::make_unique<SimLink>(config, store_),
                        add_source({Kind::arrival, to, port_of(to, i), number})});
    }
  }
}

void Network::add_hosts(const perf::NicConfig& nic, const transport::Memory& memory,
                        std::uint64_t seed) {
  const Chance chance(seed, hash_name("clocks"));
  for (Node host = 0; host < topology_.hosts.size(); ++host) {
    perf::NicConfig own = nic;
    const double off = topology_.clock_ppm * 1e-6 * (2 * chance.uniform(host) - 1);
    own.rate_bps = host_rate_bps(host) * (1 + off);
    hosts_.push_back(
        std::make_unique<Host>(host, own, memory, store_, *links_[link_out(host, 0)].link));
    host_source_.push_back(add_source({Kind::host, host}));
  }
}

void Network::add_switches(std::uint32_t mtu, std::uint64_t seed) {
  for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
    const auto node = static_cast<Node>(topology_.hosts.size() + i);
    const SwitchConfig& config = topology_.switches[i];
    std::vector<SimLink*> outs;
    std::vector<double> rates;
    std::vector<std::uint64_t> headroom;
    std::vector<std::uint32_t> sources;
    for (std::uint16_t port = 0; port < ports_[node].size(); ++port) {
      const CableConfig& cable = topology_.cables[ports_[node][port].cable];
      outs.push_back(links_[link_out(node, port)].link.get());
      rates.push_back(cable.rate_bps);
      const Node from = ports_[node][port].to;
      if (config.pause)
        headroom.push_back(
            headroom_of(cable, latency_into(topology_, from, node, nic_latency_), mtu));
      sources.push_back(add_source({Kind::port, node, port}));
    }
    switches_.emplace_back(config, node, routes_, topology_.host_class, std::move(outs), rates,
                           std::move(headroom), seed, store_);
    port_source_.push_back(std::move(sources));
  }
}

/// Updates the events of hosts and their links, to which somebody may have posted.
void Network::refresh() {
  for (Node host = 0; host < hosts_.size(); ++host) host_changed(host);
}

void Network::run_until(Instant until) {
  refresh();
  for (;;) {
    const std::uint32_t number = events_.next_source();
    const Instant at = events_.at(number);
    if (!pauses_.empty() && pauses_.top().at <= std::min(at, until)) {
      take_pauses(pauses_.top().at);
      continue;
    }
    if (at > until) break;
    ++events_count_;
    process(sources_[number], number, at);
  }
  now_ = std::max(now_, until);
}

void Network::process(const Source& source, std::uint32_t number, Instant now) {
  now_ = now;
  switch (source.kind) {
    case Kind::arrival:
      return arrive(source, number, now);
    case Kind::host:
      hosts_[source.node]->act(now);
      return host_changed(source.node);
    case Kind::port:
      switch_at(source.node).send(source.port, now);
      port_changed(source.node, source.port);
      return send_pauses(source.node, now);
  }
}

void Network::arrive(const Source& source, std::uint32_t number, Instant now) {
  SimLink& link = *links_[source.link].link;
  if (link.on_leave) [[unlikely]]
    link.on_leave(now, link.front());
  if (topology_.is_host(source.node)) {
    hosts_[source.node]->receive(link.front(), now);
    host_changed(source.node);
  } else {
    const std::uint16_t output = switch_at(source.node).receive(source.port, link.front(), now);
    port_changed(source.node, output);
    send_pauses(source.node, now);
  }
  link.pop();
  events_.set(number, link.next_at());
}

void Network::host_changed(Node host) {
  events_.set(host_source_[host], hosts_[host]->next_at());
  const Link& out = links_[link_out(host, 0)];
  events_.set(out.source, out.link->next_at());
}

void Network::port_changed(Node node, std::uint16_t port) {
  events_.set(port_source_[node - hosts_.size()][port], switch_at(node).next_at(port));
  const Link& out = links_[link_out(node, port)];
  events_.set(out.source, out.link->next_at());
}

/// A pause frame takes as long as the cable is. It does not wait for other frames.
void Network::send_pauses(Node node, Instant now) {
  auto& caused = switch_at(node).pauses();
  for (const Switch::PauseFrame& frame : caused) {
    const PortEnd& end = ports_[node][frame.port];
    const auto& far = ports_[end.to];
    const auto port = std::ranges::find(far, end.cable, &PortEnd::cable) - far.begin();
    pauses_.push({.at = now + topology_.cables[end.cable].delay,
                  .number = pauses_sent_++,
                  .node = end.to,
                  .port = static_cast<std::uint16_t>(port),
                  .paused = frame.paused});
  }
  caused.clear();
}

void Network::take_pauses(Instant now) {
  const Pause pause = pauses_.top();
  pauses_.pop();
  now_ = now;
  if (topology_.is_host(pause.node)) {
    HostPause& host = host_pauses_[pause.node];
    if (!pause.paused && host.since != Instant::max()) host.sum += now - host.since;
    host.since = pause.paused ? now : Instant::max();
    hosts_[pause.node]->pause(pause.paused, now);
    return host_changed(pause.node);
  }
  switch_at(pause.node).pause(pause.port, pause.paused, now);
  port_changed(pause.node, pause.port);
  send_pauses(pause.node, now);
}

Duration Network::host_paused(Node host) const noexcept {
  const HostPause& pause = host_pauses_[host];
  return pause.since < now_ ? pause.sum + (now_ - pause.since) : pause.sum;
}

std::vector<const CableConfig*> Network::way(Node from, Node to) const {
  std::vector<const CableConfig*> cables;
  for (Node node = from; node != to;) {
    const PortEnd& end = ports_[node][routes_.next(node, to).front()];
    cables.push_back(&topology_.cables[end.cable]);
    node = end.to;
  }
  return cables;
}

double Network::latency_ns(Node from, Node to) const {
  double sum = 2 * static_cast<double>(nic_latency_.count());
  for (Node node = from; node != to;) {
    node = ports_[node][routes_.next(node, to).front()].to;
    if (!topology_.is_host(node))
      sum += static_cast<double>(topology_.switches[node - topology_.hosts.size()].latency.count());
  }
  return sum;
}

}  // namespace lw::sim
