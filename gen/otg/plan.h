// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/flow/message.h"
#include "config/flow/traffic.h"
#include "core/time.h"
#include "gen/arp/arp_responder.h"
#include "gen/otg/model.h"
#include "gen/otg/plan_names.h"
#include "wire/opcode.h"

namespace lw::gen::otg {

/// What a capture of a port keeps.
struct PlannedCapture {
  bool pcapng = false;
  std::uint32_t packet_size = 0;  // bytes of a frame; 0: all
};

struct PlannedPort {
  std::string name, location;
  std::string spec;                     // PORT, without the rate
  std::optional<double> line_bps = {};  // of the location, or of layer1
  PerPortRoce settings = {};
  std::optional<PlannedCapture> capture = {};
};

/// An address of an interface of a device: a host at a port.
struct PlannedHost {
  std::string name = {}, ethernet = {};
  std::size_t port = 0;
  OwnAddress own = {};
  wire::IpAddress gateway = {};
  std::uint64_t prefix = 0;
  std::optional<wire::MacAddress> gateway_mac = {};
  std::optional<VlanMessage> vlan = {};
  std::uint64_t mtu = 0;
};

struct PlannedPeer {
  std::string name;
  std::size_t host = 0;
  wire::IpAddress destination;
  std::vector<std::size_t> qps;
};

struct PlannedQp {
  std::string name;
  std::size_t host = 0, peer = 0;
  std::uint32_t number = 0;  // 24 bits
  std::uint32_t ib_mtu = 0;
  QpParameters parameters;
  /// The QP that it is connected to; none: it is in another configuration.
  std::optional<std::size_t> partner = {};
  /// Number of the connection among those between the two addresses, from 0: both ends have it.
  std::uint32_t order = 0;
  double share_percent = 0;    // of a line rate, of all flows of the QP together
  std::size_t rated_port = 0;  // whose line rate it is
};

struct PlannedFlow {
  std::string name;
  std::size_t qp = 0;
  wire::Operation operation{};
  bool immediate = false;
  std::uint32_t word = 0;  // the immediate
  std::uint32_t size = 0;  // bytes of a message
};

/// Two hosts between which a flow sends.
struct PacketEnds {
  std::size_t from = 0, to = 0;
};

/// When a flow of packets stops, and its pauses.
struct PacketSpan {
  std::optional<std::uint64_t> frames = {};
  std::optional<Duration> time = {};
  std::uint64_t burst = 0;  // frames between pauses; 0: no pauses
  FlowTime delay = {}, gap = {};
};

/// A flow of frames of any headers.
struct PlannedPackets {
  std::string name, path;
  std::size_t port = 0;               // that sends
  std::vector<std::size_t> rx_ports;  // that receive
  std::vector<PacketEnds> ends;       // of devices, in turn; none: frames are as `headers` say
  std::vector<FlowHeader> headers;
  config::MessageSizes sizes = config::MessageSizes::fixed(0);  // of frames, with FCS
  config::Rate rate;  // in frames, bits on the wire, or a share of the line rate
  PacketSpan span;
  FlowMetricsWanted metrics;
  std::string payload;  // kind of FlowPayload
  std::vector<std::byte> pattern;
  bool repeat = true;
};

/// A configuration whose names are resolved. Members refer to others by index.
struct LabPlan {
  std::vector<PlannedPort> ports;
  std::vector<PlannedHost> hosts;
  std::vector<PlannedPeer> peers;
  std::vector<PlannedQp> qps;
  std::vector<PlannedFlow> flows;
  std::vector<PlannedPackets> packets;
  PlanNames names;
  bool starts = false;  // protocols start at once
  std::vector<std::string> warnings;
};

/// Resolves a configuration. What does not fit together is added to `reader`'s problems, by its
/// path: unknown names, names and addresses given twice, sizes beyond their limits, QPs without a
/// QP at the other end. The plan is complete only if there are none.
LabPlan make_plan(const Config& config, ModelReader& reader);

}  // namespace lw::gen::otg
