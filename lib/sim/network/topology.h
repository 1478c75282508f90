// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "emulator/queue/class_scheduler.h"
#include "emulator/queue/red.h"
#include "sim/host.h"

namespace lw::sim {

/// A host or a switch of a network. Hosts come first: node h < hosts is host h.
using Node = std::uint16_t;

/// Limits of what a file may describe.
inline constexpr std::size_t kMostHosts = 2048, kMostSwitches = 512, kMostPorts = 2048;
/// Most ports of a switch with a queue per input: each needs a class of the queue, and CNPs one.
inline constexpr std::size_t kMostInputs = emulator::kMostQueueClasses - 1;

/// Priority of CNPs at switches, above all data.
inline constexpr std::uint32_t kCnpPriority = 63;

/// A switch: output queues in one shared buffer.
struct SwitchConfig {
  std::string name;
  std::uint64_t buffer_bytes = 16'000'000;  // of all its queues
  /// Dynamic threshold: a queue, or with PFC the packets that came in at one port, may fill `alpha`
  /// times the free part of the buffer. Infinite: all of it. Nothing: as switches have it, 1 with
  /// PFC, so that no port takes the buffer of others, otherwise infinite. See threshold().
  std::optional<double> alpha = {};
  std::optional<emulator::Red> marking = {};  // of data; CNPs are not marked
  /// Priority flow control of data: the neighbour at a port pauses when the packets that came from
  /// it are above the threshold. Each port then has its headroom of the buffer for what is still on
  /// the way: see headroom_of().
  bool pause = false;
  /// With PFC: from the arrival of a pause at a neighbour until it acts. Nothing: pause_response().
  std::optional<Duration> response = {};
  /// With PFC: headroom of each port, in place of Headroom::total().
  std::optional<std::uint64_t> headroom_bytes = {};
  bool queue_per_input = false;  // one queue per input and output port, in place of one per output
  /// When the data of each class is served, by the class of the host that sent it; empty: all
  /// alike. Priorities below kCnpPriority. Each class has queues of its own.
  std::vector<emulator::ServiceOrder> classes = {};
  Duration latency{};  // from a packet's last bit to its place in the queue

  [[nodiscard]] double threshold() const noexcept {
    return alpha.value_or(pause ? 1 : std::numeric_limits<double>::infinity());
  }
};

/// A cable between two nodes.
struct CableConfig {
  Node a = 0, b = 0;
  double rate_bps = 100e9;
  Duration delay{};
};

/// Hosts and switches, and the cables between them.
struct Topology {
  std::vector<std::string> hosts;
  std::vector<std::uint8_t> host_class;  // of the packets of each host; below the switches' classes
  std::vector<SwitchConfig> switches;
  std::vector<CableConfig> cables;
  /// Hosts in lockstep are unrealistic: of two packets that always meet at a full queue, the same
  /// one always gets in. Each host's clock is off by up to this (IEEE 802.3 allows 100 ppm).
  double clock_ppm = 0;
  bool ecmp = true;  // packets are spread over equal ways; otherwise all take the first

  [[nodiscard]] std::size_t nodes() const noexcept { return hosts.size() + switches.size(); }
  [[nodiscard]] bool is_host(Node node) const noexcept { return node < hosts.size(); }
  [[nodiscard]] const std::string& name(Node node) const noexcept {
    return is_host(node) ? hosts[node] : switches[node - hosts.size()].name;
  }
};

/// One end of a cable, at its node: a port, which sends into one direction of the cable.
struct PortEnd {
  std::uint32_t cable = 0;
  Node to = 0;           // the node at the other end
  bool forward = false;  // sends from a to b
};

/// Returns each node's ports, in the order of the cables.
std::vector<std::vector<PortEnd>> ports_of(const Topology& topology);

/// For each cable, what tells it from parallel ones: "#2" for the second; empty: there are none.
std::vector<std::string> cable_suffixes(const Topology& topology);

/// The output ports of the shortest ways (fewest cables) from each node to each host.
class Routes {
 public:
  explicit Routes(const Topology& topology);

  /// Indices of the node's ports; empty: the host cannot be reached, or is the node.
  [[nodiscard]] const std::vector<std::uint16_t>& next(Node node, Node host) const noexcept {
    return next_[std::size_t{node} * hosts_ + host];
  }
  [[nodiscard]] bool reaches(Node from, Node host) const noexcept {
    return from == host || !next(from, host).empty();
  }
  /// The port that a packet takes among several ways: by its UDP source port and addresses, as ECMP
  /// does. The node is part of the hash, so that two switches do not choose alike.
  [[nodiscard]] std::uint16_t choose(Node node, const transport::Packet& packet) const noexcept;

 private:
  std::size_t hosts_;
  bool ecmp_;
  std::vector<std::vector<std::uint16_t>> next_;
};

/// Bytes that arrive at a switch's port after it wants its neighbour to pause, by their causes
/// (IEEE 802.1Q, annex on buffer requirements of PFC).
struct Headroom {
  std::uint64_t cable = 0;        // what it holds in both directions
  std::uint64_t frame_here = 0;   // the largest frame, which the pause waits for
  std::uint64_t pause_frame = 0;  // the pause itself
  std::uint64_t response = 0;     // until the neighbour acts
  std::uint64_t frame_there = 0;  // the largest frame, which the neighbour has begun
  std::uint64_t interfaces = 0;   // latency of both ends, in the direction of the data

  [[nodiscard]] std::uint64_t total() const noexcept {
    return cable + frame_here + pause_frame + response + frame_there + interfaces;
  }
};

/// The longest time that IEEE 802.3 (31B.3.7) gives a station of this rate to act on a pause.
Duration pause_response(double rate_bps) noexcept;

/// The headroom of a port. `response`: of the neighbour; `latency`: of both ends, in the direction
/// of the data.
Headroom headroom_of(const CableConfig& cable, Duration response, Duration latency,
                     std::uint32_t mtu) noexcept;
/// The headroom of a switch's port.
Headroom headroom_of(const Topology& topology, Node node, const PortEnd& port, Duration nic_latency,
                     std::uint32_t mtu) noexcept;

/// The response of the neighbour at a switch's port to its pauses.
Duration response_to(const SwitchConfig& config, const CableConfig& cable) noexcept;

/// What both ends of a cable add to its delay: a switch its latency where packets come in, a host
/// `nic_latency` in both directions.
Duration latency_into(const Topology& topology, Node from, Node to, Duration nic_latency) noexcept;

}  // namespace lw::sim
