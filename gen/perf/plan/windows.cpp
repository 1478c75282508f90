// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/plan/windows.h"

#include <algorithm>
#include <cmath>

#include "transport/packet.h"

namespace lw::gen::planning {
namespace {

using wire::Operation;

/// Returns the bytes on the link of a packet in the direction without payload: an ACK or a request.
double answer_bytes(const perf::PerfConfig& config) noexcept {
  transport::Packet packet;
  const transport::OpcodeSet opcodes(wire::Transport::rc);
  packet.opcode =
      opcodes.of(config.fetches() ? config.operation : Operation::ack, wire::Position::only);
  return transport::wire_bytes(packet);
}

/// The time of an atomic's response on the link, in ns: it is shorter than the request.
double atomic_response_ns(const perf::PerfConfig& config) noexcept {
  transport::Packet packet;
  packet.opcode =
      transport::OpcodeSet(wire::Transport::rc).of(Operation::atomic_ack, wire::Position::only);
  return transport::wire_bytes(packet) * 8e9 / config.nic.rate_bps;
}

/// Reduces the windows to the smallest one.
void tighten(Windows& windows, const perf::PerfConfig& config) noexcept {
  const auto narrow = [&](double messages, PlanLimit limit) {
    if (messages >= windows.depth) return;
    windows.depth = messages;
    windows.limit = limit;
  };
  windows.depth = config.qp.tx_depth;
  windows.limit = PlanLimit::tx_depth;
  narrow(config.qp.max_outstanding_wqe, PlanLimit::outstanding_wqes);
  if (config.fetches()) narrow(config.qp.max_rd_atomic, PlanLimit::reads);
  const bool bitmap = config.qp.recovery == transport::LossRecovery::selective_repeat;
  const double psns =
      bitmap ? std::min(config.qp.psn_window, config.qp.reorder_packets) : config.qp.psn_window;
  windows.of_packets = psns < windows.depth * windows.packets;
  // at least one message, of which a part is outstanding
  narrow(std::max(1.0, std::floor(psns / windows.packets)), PlanLimit::psn_window);
  if (windows.of_packets) windows.limit = PlanLimit::psn_window;
}

bool limits_sends(const perf::PerfConfig& config) noexcept {
  return config.operation == Operation::send && config.nic.receive_send_bps > 0;
}

/// Whether the NIC's port is the slowest place of the path, and nothing but the link slows it.
bool port_is_slowest(const perf::PerfConfig& config) noexcept {
  const double path = config.path.rate_bps;
  return !config.path.rules && (path <= 0 || path >= config.nic.rate_bps) &&
         !limits_sends(config) && config.nic.per_packet == Duration{} &&
         config.nic.per_message == Duration{} && config.qp.message_gap == Duration{};
}

/// Whether messages leave whole, one after the other: a QP keeps the port until its message ends.
bool leave_whole(const perf::PerfConfig& config, const Windows& windows) noexcept {
  return windows.qps == 1 || windows.packets <= config.nic.arbitration_burst;
}

/// What the least time between two messages adds to the last packet's time on the link, in ns.
double gap_beyond_last_packet(const perf::PerfConfig& config) noexcept {
  transport::Packet last;
  last.opcode =
      transport::OpcodeSet(config.qp.transport).of(config.operation, wire::Position::only);
  last.payload = config.sends_data() && config.size > 0 ? (config.size - 1) % config.qp.mtu + 1 : 0;
  const double ns = transport::wire_bytes(last) * 8e9 / config.nic.rate_bps;
  return std::max(0.0, static_cast<double>(config.qp.message_gap.count()) - ns);
}

/// Whether a timer may expire although nothing is lost: an answer waits for all windows at most.
bool may_expire(const perf::PerfConfig& config, const Windows& windows) noexcept {
  if (config.qp.timeout == 0) return false;
  const auto timer = static_cast<double>(transport::transport_timeout(config.qp.timeout).count());
  const double longest = windows.round_trip + (windows.qps * windows.depth + 1) * windows.message;
  return config.qp.adaptive_retransmission || timer <= longest;
}

/// Whether the responder may have more READs or atomics than it takes.
bool may_refuse(const perf::PerfConfig& config, const Windows& windows) noexcept {
  return config.fetches() && config.qp.max_dest_rd_atomic > 0 &&
         windows.depth > config.qp.max_dest_rd_atomic;
}

}  // namespace

Windows windows_of(const perf::PerfConfig& config) noexcept {
  Windows windows;
  const double answer_ns = answer_bytes(config) * 8e9 / config.nic.rate_bps;
  windows.round_trip = static_cast<double>(round_trip_of(config).count()) + answer_ns;
  const double own = perf::link_ns_of_message(config);
  windows.line_message = config.fetches() ? std::max(own, answer_ns) : own;
  windows.message = windows.line_message;
  if (limits_sends(config))
    windows.message = std::max(windows.message, 8e9 * config.size / config.nic.receive_send_bps);
  windows.cycle = windows.round_trip + (config.is_atomic() ? atomic_response_ns(config)
                                        : config.fetches() ? own
                                                           : windows.message);
  windows.qp_message = windows.line_message + gap_beyond_last_packet(config);
  windows.packets = config.is_atomic() ? 1 : transport::packets_of(config.size, config.qp.mtu);
  windows.qps = config.qps;
  tighten(windows, config);
  return windows;
}

std::optional<double> exact_rate(const perf::PerfConfig& config, const Windows& windows) noexcept {
  const bool exact = port_is_slowest(config) && leave_whole(config, windows) &&
                     !windows.of_packets && !may_expire(config, windows) &&
                     !may_refuse(config, windows);
  if (!exact) return std::nullopt;
  const double messages =
      std::min(1 / windows.message, windows.qps * windows.depth / windows.cycle);
  return messages * 8e9 * config.size;
}

double packets_in_flight(const perf::PerfConfig& config, const Windows& windows) noexcept {
  const double messages =
      std::min(1 / windows.message, windows.qps * windows.depth / windows.cycle);
  return messages * windows.packets * static_cast<double>(round_trip_of(config).count());
}

}  // namespace lw::gen::planning
