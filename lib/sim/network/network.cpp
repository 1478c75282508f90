// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network/network.h"

#include <algorithm>
#include <map>
#include <numeric>

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
  for (Link& link : links_) {
    link.to_host = topology_.is_host(link.to) ? &host(link.to) : nullptr;
    link.to_switch = link.to_host ? nullptr : &switch_at(link.to);
    link.outs = outs_[link.to].data();
  }
  add_parts();
}

/// Cables of 1 km and more join parts.
void Network::add_parts() {
  constexpr Duration kLong{5'000};
  std::vector<Node> part(topology_.nodes());
  std::iota(part.begin(), part.end(), Node{0});
  const auto part_of = [&](Node node) {
    while (part[node] != node) node = part[node] = part[part[node]];
    return node;
  };
  for (const CableConfig& cable : topology_.cables)
    if (cable.delay < kLong) part[part_of(cable.a)] = part_of(cable.b);
  std::map<Node, std::uint32_t> numbers;
  part_of_.resize(topology_.nodes());
  for (const Link& link : links_)
    part_of_[link.to] =
        numbers.try_emplace(part_of(link.to), static_cast<std::uint32_t>(numbers.size()))
            .first->second;
  parts_.resize(numbers.size());
  step_ = std::chrono::milliseconds(1);  // also of one part: complete_until() follows it
  for (std::uint32_t i = 0; i < links_.size(); ++i) add_to_parts(i);
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const Link& back = links_[i ^ 1];
    if (links_[i].from_host && !back.crosses && !back.asks_at_once) links_[i].back = &back;
  }
}

void Network::add_to_parts(std::uint32_t number) {
  const auto add_source = [&](Part& part) {
    part.links.push_back(number);
    return part.events.add();
  };
  Link& link = links_[number];
  Part& sender = parts_[part_of_[link.from]];
  link.part = part_of_[link.to];
  link.events = &parts_[link.part].events;
  link.source = add_source(parts_[link.part]);
  link.crosses = part_of_[link.from] != link.part;
  longest_lead_ = std::max(longest_lead_, link.lead);
  if (!link.crosses) return;
  // Neither a packet nor a pause reaches another part within a window.
  step_ = std::min(step_, topology_.cables[number / 2].delay);
  link.lead = link.link->config().delay;
  sender.crossing.push_back(number);
  if (link.asks_at_once) link.departures = add_source(sender);
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
      links_.push_back({.link = std::make_unique<SimLink>(config, store_),
                        .from = from,
                        .to = to,
                        .from_port = port_of(from, i),
                        .to_port = port_of(to, i),
                        .lead = config.delay});
    }
  }
  for (Node node = 0; node < ports_.size(); ++node) {
    auto& outs = outs_.emplace_back();
    for (std::uint16_t port = 0; port < ports_[node].size(); ++port)
      outs.push_back(&links_[link_out(node, port)]);
  }
}

void Network::add_hosts(const perf::NicConfig& nic, const transport::Memory& memory,
                        std::uint64_t seed) {
  const Chance chance(seed, hash_name("clocks"));
  for (Node host = 0; host < topology_.hosts.size(); ++host) {
    perf::NicConfig own = nic;
    const double off = topology_.clock_ppm * 1e-6 * (2 * chance.uniform(host) - 1);
    own.rate_bps = host_rate_bps(host) * (1 + off);
    Link& out = links_[link_out(host, 0)];
    hosts_.push_back(std::make_unique<Host>(host, own, memory, store_, *out.link));
    out.from_host = hosts_.back().get();
  }
}

void Network::add_switches(std::uint32_t mtu, std::uint64_t seed) {
  for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
    const auto node = static_cast<Node>(topology_.hosts.size() + i);
    const SwitchConfig& config = topology_.switches[i];
    std::vector<SimLink*> outs;
    std::vector<double> rates;
    std::vector<std::uint64_t> headroom;
    for (std::uint16_t port = 0; port < ports_[node].size(); ++port) {
      const CableConfig& cable = topology_.cables[ports_[node][port].cable];
      outs.push_back(links_[link_out(node, port)].link.get());
      rates.push_back(cable.rate_bps);
      if (config.pause)
        headroom.push_back(config.headroom_bytes.value_or(
            headroom_of(topology_, node, ports_[node][port], nic_latency_, mtu).total()));
    }
    switches_.emplace_back(config, node, routes_, topology_.host_class, std::move(outs), rates,
                           std::move(headroom), seed, store_);
    for (std::uint16_t port = 0; port < ports_[node].size(); ++port) {
      Link& out = links_[link_out(node, port)];
      out.from_switch = &switches_.back();
      out.asks_at_once = config.pause;
      if (config.pause) out.lead = {};
    }
  }
}

std::pair<std::uint32_t, std::uint32_t> Network::connect(Node from, Node to,
                                                         transport::QpConfig qp) {
  Host &sender = host(from), &receiver = host(to);
  const auto here = static_cast<std::uint32_t>(sender.qps());
  const auto there = static_cast<std::uint32_t>(receiver.qps());
  qp.dest_host = to;
  qp.dest_qpn = Host::qpn_of(there);
  sender.add_qp(qp);
  qp.dest_host = from;
  qp.dest_qpn = Host::qpn_of(here);
  receiver.add_qp(qp);
  return {here, there};
}

void Network::run_until(Instant until) {
  // Somebody may have posted to a host.
  for (Node host = 0; host < hosts_.size(); ++host) changed(host, 0);
  for (;;) {
    const Instant first = next_event();
    if (first > until) break;
    complete_until_ = std::max(complete_until_, first - longest_lead_);
    run_window(std::min(first + step_, until + Duration{1}));
  }
  for (Node host = 0; host < hosts_.size(); ++host) send_until(links_[link_out(host, 0)], until);
  now_ = std::max(now_, until);
}

/// The first event of all parts. Hands over the pauses between parts.
Instant Network::next_event() {
  for (Part& part : parts_) {
    for (const Pause& pause : part.pauses_across) parts_[part_of_[pause.node]].push(pause);
    part.pauses_across.clear();
    for (const std::uint32_t number : part.crossing) {
      const Link& link = links_[number];
      parts_[link.part].events.set(link.source, next_at(link));
    }
  }
  Instant first = Instant::max();
  for (const Part& part : parts_)
    first = std::min({first, part.events.next_at(), part.next_pause()});
  return first;
}

void Network::run_window(Instant end) {
  const auto each_part = [&](auto run) {
    if (threads_) return threads_->run(parts_.size(), [&](std::size_t part) { run(parts_[part]); });
    for (Part& part : parts_) run(part);
  };
  if (parts_.size() > 1) each_part([&](Part& part) { send_across(part, end); });
  if (on_window) on_window();
  each_part([&](Part& part) { run_part(part, end); });
}

/// Hands over the packets that arrive in other parts before `end`: they left before the window.
void Network::send_across(Part& part, Instant end) {
  for (const std::uint32_t number : part.crossing) {
    Link& link = links_[number];
    send_until(link, end - link.lead - Duration{1});
    for (; link.link->next_at() < end; link.link->pop()) {
      SimLink::InFlight& arriving = link.arriving.add();
      arriving.at = link.link->next_at();
      arriving.packet = link.link->front();
    }
  }
}

void Network::run_on(std::uint32_t threads) {
  const bool heard = std::ranges::any_of(
      links_, [](const Link& link) { return link.link->on_enter || link.link->on_leave; });
  // A listener gets packets of one time in the order of the events: no host acts ahead.
  for (Link& link : links_)
    if (heard) link.back = nullptr;
  const auto used = std::min<std::size_t>(threads, parts_.size());
  threads_ = used > 1 && !heard ? std::make_unique<WorkerThreads>(used) : nullptr;
}

std::uint64_t Network::events() const noexcept {
  std::uint64_t sum = 0;
  for (const Part& part : parts_) sum += part.events_count;
  return sum;
}

/// Processes a part's events before `end`. All that an event calls is compiled into it: 4 % faster.
[[gnu::flatten]] void Network::run_part(Part& part, Instant end) {
  for (;;) {
    const std::uint32_t source = part.events.next_source();
    const Instant at = part.events.at(source);
    if (!part.pauses.empty() && part.next_pause() <= at && part.next_pause() < end) [[unlikely]] {
      take_pause(part);
      continue;
    }
    if (at >= end) return;
    ++part.events_count;
    Link& link = links_[part.links[source]];
    if (link.crosses) [[unlikely]]
      process_crossing(part, link, at);
    else
      process(link, at, end);
  }
}

/// When the link delivers its next packet; while it is empty, when it may at the earliest.
Instant Network::next_at(const Link& link) noexcept {
  const Instant arrives = link.link->next_at();
  if (arrives != Instant::max() && !link.asks_at_once) return arrives;
  const Instant sends = next_sent(link);
  return sends == Instant::max() ? arrives : std::min(arrives, sends + link.lead);
}

/// When the link's sender has something to do.
Instant Network::next_sent(const Link& link) noexcept {
  return link.from_host ? link.from_host->next_at() : link.from_switch->next_at(link.from_port);
}

/// Lets the link's sender do what it does up to and including `until`.
void Network::send_until(Link& link, Instant until) {
  if (link.from_switch) return link.from_switch->send(link.from_port, until);
  for (Instant at = link.from_host->next_at(); at <= until; at = link.from_host->next_at())
    link.from_host->act(at);
}

/// How long the sender of an empty link may act at `now`: nothing reaches it by then. A switch only
/// as long as it takes until it is asked. A host's packets of a microsecond enter the link at once,
/// as far as nothing is on the way to it: an event less for most packets. No pause reaches it.
Instant Network::acts_until(const Link& link, Instant now, Instant end) noexcept {
  const Instant asked = now - link.lead;
  if (!link.back) return asked;
  const Instant reached = std::min({next_at(*link.back), now + link.back->lead, end});
  return std::max(asked, reached - Duration{1});
}

void Network::process(Link& link, Instant now, Instant end) {
  SimLink& cable = *link.link;
  for (;;) {
    Instant arrives = cable.next_at();
    if (arrives == Instant::max() || link.asks_at_once) {
      send_until(link, acts_until(link, now, end));
      arrives = cable.next_at();
    }
    if (arrives > now) break;
    if (cable.on_leave) [[unlikely]]
      cable.on_leave(now, cable.front());
    deliver(link, cable.front(), now);
    cable.pop();
  }
  link.events->set(link.source, next_at(link));
  if (link.asks_at_once) send_pauses(*link.from_switch, link.from, now);
}

/// Delivers what arrives from another part at `now`, or lets go what leaves for one.
[[gnu::flatten]] void Network::process_crossing(Part& part, Link& link, Instant now) {
  if (&part != &parts_[link.part]) {
    send_until(link, now);
    changed(link);
    return send_pauses(*link.from_switch, link.from, now);
  }
  for (; !link.arriving.empty() && link.arriving.front().at <= now; link.arriving.pop()) {
    if (link.link->on_leave) [[unlikely]]
      link.link->on_leave(now, link.arriving.front().packet);
    deliver(link, link.arriving.front().packet, now);
  }
  part.events.set(link.source, link.arriving.empty() ? Instant::max() : link.arriving.front().at);
}

/// Delivers a packet at the link's end. The caller removes it from the link.
void Network::deliver(Link& link, const transport::Packet& packet, Instant now) {
  if (link.to_host) {
    Link& out = *link.outs[0];
    send_until(out, now - Duration{1});
    link.to_host->receive(packet, now);
    changed(out);
  } else {
    changed(*link.outs[link.to_switch->receive(link.to_port, packet, now)]);
    send_pauses(*link.to_switch, link.to, now);
  }
}

/// A pause frame takes as long as the cable is, and does not wait for other frames. The neighbour
/// then takes its time to act.
void Network::send_pauses_of(Switch& from, Node node, Instant now) {
  auto& caused = from.pauses();
  for (const Switch::PauseFrame& frame : caused) {
    const PortEnd& end = ports_[node][frame.port];
    const auto& far = ports_[end.to];
    const auto port = std::ranges::find(far, end.cable, &PortEnd::cable) - far.begin();
    const CableConfig& cable = topology_.cables[end.cable];
    const SwitchConfig& config = topology_.switches[node - topology_.hosts.size()];
    const Pause pause{.at = now + cable.delay + response_to(config, cable),
                      .node = end.to,
                      .port = static_cast<std::uint16_t>(port),
                      .paused = frame.paused};
    Part& own = parts_[part_of_[node]];
    if (part_of_[node] == part_of_[end.to])
      own.push(pause);
    else
      own.pauses_across.push_back(pause);
  }
  caused.clear();
}

void Network::take_pause(Part& part) {
  const Pause pause = part.pauses.top();
  part.pauses.pop();
  const Instant now = pause.at;
  if (topology_.is_host(pause.node)) {
    HostPause& host = host_pauses_[pause.node];
    if (!pause.paused && host.since != Instant::max()) host.sum += now - host.since;
    host.since = pause.paused ? now : Instant::max();
    Link& out = links_[link_out(pause.node, 0)];
    send_until(out, now - Duration{1});
    hosts_[pause.node]->pause(pause.paused, now);
    return changed(out);
  }
  switch_at(pause.node).pause(pause.port, pause.paused, now);
  changed(pause.node, pause.port);
  send_pauses(switch_at(pause.node), pause.node, now);
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
