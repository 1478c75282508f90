// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "sim/host.h"
#include "sim/network/switch_config.h"

namespace lw::sim {

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
  [[nodiscard]] std::uint16_t choose(Node node, const transport::Packet& packet) const noexcept {
    const std::uint16_t only = only_[std::size_t{node} * hosts_ + packet.to_host];
    return only != kSeveral ? only : choose_of_several(node, packet);
  }

 private:
  static constexpr std::uint16_t kSeveral = 0xffff;
  [[nodiscard]] std::uint16_t choose_of_several(Node node,
                                                const transport::Packet& packet) const noexcept;

  std::size_t hosts_;
  std::vector<std::vector<std::uint16_t>> next_;
  std::vector<std::uint16_t> only_;  // the port if all packets take the same, or kSeveral
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
