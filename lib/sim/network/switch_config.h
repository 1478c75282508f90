// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/figure.h"
#include "core/time.h"
#include "emulator/queue/class_scheduler.h"
#include "emulator/queue/red.h"

namespace lw::sim {

/// A host or a switch of a network. Hosts come first: node h < hosts is host h.
using Node = std::uint16_t;

/// Limits of what a file may describe.
inline constexpr std::size_t kMostHosts = 2048, kMostSwitches = 512, kMostPorts = 2048;
/// Most ports of a switch with a queue per input: each needs a class of the queue, and CNPs one.
inline constexpr std::size_t kMostInputs = emulator::kMostQueueClasses - 1;

/// Longest delay of a cable, in ns.
inline constexpr double kLongestCableNs = 10e9;

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

  static const FigureTable& figures();  // its settings, and its name
  [[nodiscard]] double threshold() const noexcept {
    return alpha.value_or(pause ? 1 : std::numeric_limits<double>::infinity());
  }
};

/// A cable between two nodes.
struct CableConfig {
  Node a = 0, b = 0;
  double rate_bps = 100e9;
  Duration delay{};

  static const FigureTable& figures();  // its settings
};

}  // namespace lw::sim
