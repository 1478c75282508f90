// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "core/figure.h"
#include "core/time.h"
#include "sim/network/switch_config.h"

namespace lw::sim {

/// Who sends to whom.
enum class SendPattern : std::uint8_t {
  incast,       // all senders to one receiver
  permutation,  // each host to another, each from one
  all_to_all,   // each host to each other
};

/// A size of flows, and how often it is drawn.
struct SizeShare {
  std::uint32_t bytes = 0;
  double weight = 1;

  static const FigureTable& figures();
};

/// Hosts that send to others in one way. Without a load, every pair has QPs whose send queues stay
/// full, for a number of messages or until the end. With one, flows of one message each arrive at
/// random times.
struct Sending {
  SendPattern pattern = SendPattern::incast;
  std::vector<Node> senders = {};    // empty: all hosts
  std::vector<Node> receivers = {};  // empty: all hosts; of an incast one
  std::uint32_t qps = 1;             // of each pair, without a load
  std::uint32_t size = 0;            // of a message, without a load; 0: that of the run
  std::uint64_t messages = 0;        // that each QP sends; 0: until the end
  /// Share of its link that each sender offers, in payload; 0: no random arrivals. Arrivals are
  /// Poisson processes; a flow goes to one of the sender's receivers, each alike.
  double load = 0;
  std::vector<SizeShare> sizes = {};  // of the flows, with a load
  Duration start{};                   // no sender starts earlier
  /// Senders in lockstep are unrealistic: each starts at a random time within this after `start`.
  Duration start_within = std::chrono::milliseconds(1);

  /// Its settings in a [workload], and in a [[flow]], except for the names of hosts.
  static const FigureTable& workload_settings();
  static const FigureTable& flow_settings();
  static const FigureTable& figures();  // both, except for sizes
};

/// What the hosts of a network send.
struct WorkloadConfig {
  std::vector<Sending> sendings = {Sending{}};

  /// True if flows start at random times.
  [[nodiscard]] bool random() const noexcept {
    return std::ranges::any_of(sendings, [](const Sending& each) { return each.load > 0; });
  }
};

}  // namespace lw::sim
