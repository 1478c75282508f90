// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/plan/quantities.h"

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

/// Reduces the windows to the smallest one.
void tighten(Quantities& given, const perf::PerfConfig& config) noexcept {
  const auto narrow = [&](double messages, PlanLimit limit) {
    if (messages >= given.depth) return;
    given.depth = messages;
    given.limit = limit;
  };
  given.depth = config.qp.tx_depth;
  given.limit = PlanLimit::tx_depth;
  narrow(config.qp.max_outstanding_wqe, PlanLimit::outstanding_wqes);
  if (config.fetches()) narrow(config.qp.max_rd_atomic, PlanLimit::reads);
  const bool bitmap = config.qp.recovery == transport::LossRecovery::selective_repeat;
  const double psns =
      bitmap ? std::min(config.qp.psn_window, config.qp.reorder_packets) : config.qp.psn_window;
  // a READ is posted only if it fits into the window as a whole, or is alone
  if (config.fetches()) {
    if (psns < given.depth * given.packets) given.read_psns = psns;
    narrow(std::max(1.0, std::floor(psns / given.packets)), PlanLimit::psn_window);
  } else if (psns < given.depth * given.packets) {
    given.psns = psns;
    given.limit = PlanLimit::psn_window;
  }
}

/// Returns the time in ns that the sender's NIC takes for the last packet of a message beyond that
/// packet's time on the link: the answer doesn't wait for it.
double nic_rest(const perf::PerfConfig& config) noexcept {
  perf::PerfConfig free = config;
  free.nic.per_packet = free.nic.per_message = Duration{};
  const std::uint32_t packets = transport::packets_of(config.size, config.qp.mtu);
  const bool one = packets == 1 || (config.is_atomic());
  if (!one) free.size = config.size - (packets - 1) * config.qp.mtu;
  const double on_link = perf::link_ns_of_message(free);
  const Duration nic = config.nic.per_packet + (one ? config.nic.per_message : Duration{});
  return std::max(0.0, static_cast<double>(nic.count()) - on_link);
}

}  // namespace

bool limits_sends(const perf::PerfConfig& config) noexcept {
  return config.operation == Operation::send && config.nic.receive_send_bps > 0;
}

bool is_selective(const perf::PerfConfig& config) noexcept {
  return config.qp.recovery == transport::LossRecovery::selective_repeat && !config.fetches();
}

bool queues_behind_port(const perf::PerfConfig& config) noexcept {
  const double line = config.path.rate_bps > 0 ? config.path.rate_bps : config.nic.rate_bps;
  return line < config.nic.rate_bps ||
         (limits_sends(config) && config.nic.receive_send_bps < config.nic.rate_bps);
}

Quantities quantities_of(const perf::PerfConfig& config) noexcept {
  Quantities given;
  const double answer_ns = answer_bytes(config) * 8e9 / config.nic.rate_bps;
  given.round_trip = static_cast<double>(round_trip_of(config).count()) + answer_ns;
  given.line_message = perf::link_ns_of_message(config);
  if (config.fetches()) given.line_message = std::max(given.line_message, answer_ns);
  given.message = given.line_message;
  if (limits_sends(config))
    given.message = std::max(given.message, 8e9 * config.size / config.nic.receive_send_bps);
  const bool one = config.is_atomic();
  given.packets = one ? 1 : transport::packets_of(config.size, config.qp.mtu);
  given.packet = given.message / given.packets;
  given.rest = nic_rest(config);
  given.round_trip -= given.rest;
  given.qps = config.qps;
  tighten(given, config);
  return given;
}

bool take_turns(const perf::PerfConfig& config, const Quantities& given) noexcept {
  return given.qps > 1 && given.packets > config.nic.arbitration_burst;
}

double queued_share(const perf::PerfConfig& config, const Quantities& given) noexcept {
  if (!config.fetches()) return 0;
  const auto nic = static_cast<double>((config.nic.per_packet + config.nic.per_message).count());
  const double request = std::max(answer_bytes(config) * 8e9 / config.nic.rate_bps, nic);
  return std::max(0.0, 1 - request / given.message);
}

double waiting_fetches(const perf::PerfConfig& config, const Quantities& given) noexcept {
  const double share = queued_share(config, given);
  if (share == 0) return 0;
  return std::max(given.depth * share,
                  given.depth - given.round_trip / (given.qps * given.message));
}

}  // namespace lw::gen::planning
