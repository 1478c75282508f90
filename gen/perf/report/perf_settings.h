// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/figure.h"
#include "gen/perf/session/class_counts.h"
#include "gen/perf/session/handover.h"
#include "gen/perf/session/session_params.h"

namespace lw::gen {

/// What roce-gen respond counted.
struct PortPeer {
  ServerStats stats;
  std::optional<std::uint64_t> dropped;  // UC and UD: packets of incomplete messages

  static const FigureTable& figures();
};

/// A run through a port.
struct MeasuredPort {
  std::string port, peer;
  wire::Transport transport{};
  Verify verify{};
  std::uint64_t wrong = 0;  // messages of READs with other bytes than were sent
  std::uint64_t bad_icrc = 0, frames_not_sent = 0;
  std::optional<PortPeer> responder;
  roce::ClassOfTraffic traffic = {};
  std::vector<ClassCount> classes = {};  // packets that this side sent and received
  std::uint64_t other_partition = 0;     // packets with another P_Key

  static const FigureTable& figures();
};

/// What roce-endpoint serve counted.
struct DevicePeer {
  ServerStats stats;
  bool counted = false;  // by the server itself
  std::uint64_t messages = 0, bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> counters;  // changes of the device's

  static const FigureTable& figures();
};

/// A run over an RDMA device.
struct MeasuredDevice {
  std::string port, peer;  // the device; the server
  bool inlined = false;
  std::string_view poll;  // "busy" or "event"
  std::uint32_t post_list = 0;
  std::string_view signal;  // "all" or "periodic"
  bool checked = false;
  std::optional<DevicePeer> server;

  static const FigureTable& figures();
};

}  // namespace lw::gen
