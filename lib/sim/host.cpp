// SPDX-License-Identifier: BSD-3-Clause
#include "sim/host.h"

#include <algorithm>
#include <utility>

namespace lw::sim {

using transport::Packet;

namespace {

constexpr std::int64_t kPsPerNs = 1000;
constexpr std::int64_t to_ps(Duration d) noexcept { return d.count() * kPsPerNs; }
constexpr std::int64_t to_ps(Instant t) noexcept { return to_ns(t) * kPsPerNs; }
/// Rounds ps >= 0 up to ns. An unsigned division takes half the steps.
constexpr Instant not_before(std::int64_t ps) noexcept {
  return instant_from_ns(
      static_cast<std::int64_t>((static_cast<std::uint64_t>(ps) + kPsPerNs - 1) / kPsPerNs));
}

}  // namespace

Host::Host(std::uint16_t number, const perf::NicConfig& nic, transport::Memory memory,
           transport::PayloadStore& store, SimLink& out)
    : QpScheduler(nic.arbitration_burst),
      number_(number),
      nic_(nic),
      ps_per_byte_(8e12 / nic.rate_bps),
      limits_sends_(nic.receive_send_bps > 0),
      costs_(nic.per_packet > Duration{} || nic.per_message > Duration{}),
      unusual_(limits_sends_),
      memory_(std::move(memory)),
      store_(store),
      out_(out) {}

std::uint32_t Host::add_qp(transport::QpConfig config) {
  config.qpn = qpn_of(static_cast<std::uint32_t>(pairs_.size()));
  config.host = number_;
  if (config.rate_bps == 0) config.rate_bps = nic_.rate_bps;
  pairs_.push_back(std::make_unique<transport::QueuePair>(config, memory_, store_));
  return attach(*pairs_.back(), config.dest_host);
}

void Host::act_unusual(Instant now) {
  for (; !reposts_.empty() && reposts_.front().at <= now; reposts_.pop())
    post(reposts_.front().qp, reposts_.front().receive);
  while (!calls_.empty() && calls_.top().at <= now) {
    const Call call = calls_.top();
    calls_.pop();
    call.application->on_time(*this, call.tag, now);
  }
  while (!held_.empty() && held_.front().until <= now) {
    const Packet packet = held_.front().packet;
    held_.pop();
    accept(packet, now, false);
  }
}

/// A packet that is corrupted, or that a receive limit may hold.
void Host::receive_unusual(const Packet& packet, Instant now) {
  if (packet.icrc_wrong) {
    ++counters_.icrc_errors;
    return store_.release(packet.data);
  }
  if (!held_.empty() || is_limited(packet)) return hold(packet, now);
  accept(packet, now, true);
  transmit(now);
}

bool Host::is_limited(const Packet& packet) const noexcept {
  return packet.payload > 0 && packet.opcode != transport::kCnpOpcode &&
         transport::meaning_of(packet.opcode).operation == wire::Operation::send;
}

/// All packets wait in order while SENDs arrive faster than they can be stored.
void Host::hold(const Packet& packet, Instant now) {
  if (is_limited(packet)) {
    stored_ps_ = std::max(stored_ps_, to_ps(now)) +
                 static_cast<std::int64_t>(packet.payload * 8e12 / nic_.receive_send_bps);
  }
  held_.push({not_before(stored_ps_), packet});
}

[[gnu::flatten]] void Host::accept(const Packet& packet, Instant now, bool transmits) {
  const std::uint32_t qp = packet.dest_qp - kFirstQpn;
  if (qp >= qps()) {
    ++counters_.unknown_qp;
    return store_.release(packet.data);
  }
  deliver(qp, packet, now, transmits);
}

void Host::pause(bool paused, Instant now) noexcept {
  port_free_at_ = paused ? Instant::max() : not_before(port_free_ps_);
  if (!paused) transmit(now);
}

/// Least time for which a packet of any length keeps the port.
std::int64_t Host::busy_ps(std::uint8_t opcode) const noexcept {
  const bool begins = transport::meaning_of(opcode).begins;
  return to_ps(nic_.per_packet) + (begins ? to_ps(nic_.per_message) : 0);
}

/// Computes a packet's size and time on the link, unless they equal those of the packet before.
void Host::measure(const Packet& packet) noexcept {
  if (packet.opcode == same_opcode_ && packet.payload == same_payload_) return;
  same_opcode_ = packet.opcode;
  same_payload_ = packet.payload;
  same_bytes_ = wire_bytes(packet);
  same_ps_ = static_cast<std::int64_t>(same_bytes_ * ps_per_byte_);
}

void Host::put_on_link(std::uint32_t qp, SimLink::InFlight& draft, Instant now) {
  measure(draft.packet);
  // A port that became free within this ns has not been idle.
  const std::int64_t start = port_free_at_ < now ? to_ps(now) : port_free_ps_;
  const std::int64_t last_byte = start + same_ps_;
  port_free_ps_ = costs_ ? std::max(last_byte, start + busy_ps(draft.packet.opcode)) : last_byte;
  port_free_at_ = not_before(port_free_ps_);
  ++counters_.sent;
  counters_.sent_wire_bytes += same_bytes_;
  if (on_send) [[unlikely]]
    on_send(qp, draft.packet, now);
  out_.enter(draft, last_byte);
}

}  // namespace lw::sim

template class lw::transport::QpScheduler<lw::sim::Host>;
