// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/network/switch.h"
#include "sim/network/topology.h"
#include "sim/network/worker_threads.h"
#include "transport/event_queue.h"

namespace lw::sim {

/// Hosts and switches in virtual time. Each direction of a cable delivers its packets in the order
/// of time, those of one time by the direction's number, so the same configuration gives the same
/// events. A host or a port is not asked before its cable is empty or something arrives: what it
/// sends meanwhile comes later anyway.
///
/// Parts of the network that only long cables join run for a window of time, in which nothing that
/// one sends can reach another; between two windows, packets between parts are handed over. The
/// windows do not depend on the number of threads, so neither do the results. What an event of a
/// host calls runs on the thread of its part: it may change what belongs to that host, and nothing
/// else of the network.
class Network {
 public:
  /// `topology` must be sound: each host has one cable, and every switch with PFC has room for its
  /// headroom. `nic`: of each host; its rate is the cable's. `memory`: of each host. `mtu`: of the
  /// QPs.
  Network(const Topology& topology, const perf::NicConfig& nic, const transport::Memory& memory,
          std::uint32_t mtu, std::uint64_t seed);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  Network(Network&&) = delete;
  Network& operator=(Network&&) = delete;
  ~Network() = default;

  [[nodiscard]] const Topology& topology() const noexcept { return topology_; }
  [[nodiscard]] const Routes& routes() const noexcept { return routes_; }
  [[nodiscard]] Host& host(Node number) noexcept { return *hosts_[number]; }
  /// The switch that is this node. What has left a port by now() is sent, and counted, only once
  /// counters() of the port is called.
  [[nodiscard]] Switch& switch_at(Node node) noexcept { return switches_[node - hosts_.size()]; }
  /// One direction of a cable: forward is from a to b.
  [[nodiscard]] SimLink& link(std::uint32_t cable, bool forward) noexcept {
    return *links_[2 * cable + (forward ? 0 : 1)].link;
  }
  /// The rate of a host's cable, in b/s.
  [[nodiscard]] double host_rate_bps(Node host) const noexcept {
    return topology_.cables[ports_[host].front().cable].rate_bps;
  }
  /// The ports of a node.
  [[nodiscard]] const std::vector<PortEnd>& ports_at(Node node) const noexcept {
    return ports_[node];
  }
  /// The part that a node is in, from 0 to parts() - 1.
  [[nodiscard]] std::uint32_t part_of(Node node) const noexcept { return part_of_[node]; }
  [[nodiscard]] std::size_t parts() const noexcept { return parts_.size(); }
  /// Runs the parts on this number of threads, at least 1; more than parts() have no effect. A
  /// network with a listener at a link runs on one, and no host of it acts ahead.
  void run_on(std::uint32_t threads);
  /// Called before each window, once the parts have sent what may arrive in it: one thread.
  std::function<void()> on_window;
  /// Adds a QP at both hosts, connected. Returns their numbers there.
  std::pair<std::uint32_t, std::uint32_t> connect(Node from, Node to, transport::QpConfig qp);
  /// How long switches have paused a host, until now.
  [[nodiscard]] Duration host_paused(Node host) const noexcept;
  /// The cables of the first of the shortest ways between two hosts.
  [[nodiscard]] std::vector<const CableConfig*> way(Node from, Node to) const;
  /// What NICs and switches add to the delay of that way, in ns.
  [[nodiscard]] double latency_ns(Node from, Node to) const;
  [[nodiscard]] Instant now() const noexcept { return now_; }
  /// Each packet that enters a link from now on does so at this time or later.
  [[nodiscard]] Instant complete_until() const noexcept { return complete_until_; }
  [[nodiscard]] std::uint64_t events() const noexcept;

  /// Processes all events up to and including `until`, and sets the clock to `until`. Whoever posts
  /// to a host does so between two calls, or from an application.
  void run_until(Instant until);

 private:
  /// One direction of a cable, with the host or the switch's port that sends into it.
  struct Link {
    std::unique_ptr<SimLink> link;
    Node from = 0, to = 0;
    std::uint16_t from_port = 0, to_port = 0;
    Host* from_host = nullptr;      // this or
    Switch* from_switch = nullptr;  // this is the sender
    Host* to_host = nullptr;        // this or
    Switch* to_switch = nullptr;    // this is the receiver
    Link* const* outs = nullptr;    // the links that its receiver sends into, by port
    const Link* back = nullptr;     // of a host that may act ahead: the link to it
    /// The sender is asked so long after it may send: until then nothing can arrive. Where a switch
    /// may end a pause with each packet that leaves, it is asked at once.
    Duration lead{};
    bool asks_at_once = false;
    transport::EventQueue* events = nullptr;  // of its receiver's part
    std::uint32_t part = 0, source = 0;       // whose events its deliveries are, and which
    bool crosses = false;                     // its sender is in another part
    std::uint32_t departures = 0;             // if it crosses and asks at once: source of that part
    transport::Fifo<SimLink::InFlight> arriving = {};  // if it crosses: in this window
  };
  struct Pause {  // on its way to a node
    Instant at;
    std::uint64_t number = 0;  // order among equal times
    Node node = 0;
    std::uint16_t port = 0;
    bool paused = false;
    friend bool operator<(const Pause& a, const Pause& b) noexcept {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  struct alignas(64) Part {  // nodes, and the links to them
    transport::EventQueue events;
    std::vector<std::uint32_t> links;     // by source
    std::vector<std::uint32_t> crossing;  // links from its nodes to other parts
    std::priority_queue<Pause> pauses;    // to its nodes
    std::uint64_t pauses_number = 0;      // of these, so far
    std::vector<Pause> pauses_across;     // from its nodes to those of other parts, in a window
    std::uint64_t events_count = 0;

    void push(Pause pause) {
      pause.number = pauses_number++;
      pauses.push(pause);
    }
    [[nodiscard]] Instant next_pause() const noexcept {
      return pauses.empty() ? Instant::max() : pauses.top().at;
    }
  };

  void add_parts();
  void add_to_parts(std::uint32_t link);
  void add_links(const perf::NicConfig& nic);
  void add_hosts(const perf::NicConfig& nic, const transport::Memory& memory, std::uint64_t seed);
  void add_switches(std::uint32_t mtu, std::uint64_t seed);
  [[nodiscard]] std::uint32_t link_out(Node node, std::uint16_t port) const noexcept {
    const PortEnd& end = ports_[node][port];
    return 2 * end.cable + (end.forward ? 0 : 1);
  }
  [[nodiscard]] static Instant next_at(const Link& link) noexcept;
  [[nodiscard]] static Instant next_sent(const Link& link) noexcept;
  /// Sets a link's next event. The next arrival of a link between parts changes between windows.
  void changed(const Link& link) noexcept {
    if (!link.crosses)
      link.events->set(link.source, next_at(link));
    else if (link.asks_at_once)
      parts_[part_of_[link.from]].events.set(link.departures,
                                             link.from_switch->next_at(link.from_port));
  }
  void changed(Node node, std::uint16_t port) noexcept { changed(links_[link_out(node, port)]); }
  static void send_until(Link& link, Instant until);
  [[nodiscard]] static Instant acts_until(const Link& link, Instant now, Instant end) noexcept;
  [[nodiscard]] Instant next_event();
  void run_window(Instant end);
  void send_across(Part& part, Instant end);
  void run_part(Part& part, Instant end);
  void process(Link& link, Instant now, Instant end);
  [[gnu::noinline]] void process_crossing(Part& part, Link& link, Instant now);
  void deliver(Link& link, const transport::Packet& packet, Instant now);
  void send_pauses(Switch& from, Node node, Instant now) {
    if (!from.pauses().empty()) [[unlikely]]
      send_pauses_of(from, node, now);
  }
  [[gnu::noinline]] void send_pauses_of(Switch& from, Node node, Instant now);
  void take_pause(Part& part);

  Topology topology_;
  Routes routes_;
  std::vector<std::vector<PortEnd>> ports_;
  transport::PayloadStore store_;
  std::vector<Link> links_;               // two for each cable
  std::vector<std::vector<Link*>> outs_;  // of each node, by port
  std::vector<std::unique_ptr<Host>> hosts_;
  struct HostPause {
    Instant since = Instant::max();
    Duration sum{};
  };
  std::vector<HostPause> host_pauses_;
  Duration nic_latency_;
  std::deque<Switch> switches_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> part_of_;  // by node
  std::unique_ptr<WorkerThreads> threads_;
  Duration step_{};          // of a window at most
  Duration longest_lead_{};  // of a link
  Instant now_, complete_until_;
};

}  // namespace lw::sim
