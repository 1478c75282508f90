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
constexpr Instant not_before(std::int64_t ps) noexcept {
  return instant_from_ns((ps + kPsPerNs - 1) / kPsPerNs);
}

}  // namespace

Host::Host(std::uint16_t number, const NicConfig& nic, transport::Memory memory,
           transport::PayloadStore& store, Line& out)
    : number_(number),
      nic_(nic),
      ps_per_byte_(8e12 / nic.rate_bps),
      memory_(std::move(memory)),
      store_(store),
      out_(out) {}

std::uint32_t Host::add_qp(transport::QpConfig config) {
  const auto index = static_cast<std::uint32_t>(qps_.size());
  config.qpn = qpn_of(index);
  config.host = number_;
  if (config.rate_bps == 0) config.rate_bps = nic_.rate_bps;
  qps_.push_back({.pair = std::make_unique<transport::QueuePair>(config, memory_, store_)});
  return index;
}

[[gnu::flatten]] bool Host::post(std::uint32_t qp, const transport::WorkRequest& request,
                                 Instant now) {
  const bool taken = qps_[qp].pair->post(request, now);
  wake(qp);
  transmit(now);
  return taken;
}

[[gnu::flatten]] void Host::act(Instant now) {
  while (!held_.empty() && held_.front().until <= now) {
    const Packet packet = held_.front().packet;
    held_.pop();
    hand_over(packet, now);
  }
  ring_alarms(now);
  transmit(now);
}

[[gnu::flatten]] void Host::receive(const Packet& packet, Instant now) {
  ++counters_.received;
  if (packet.icrc_wrong) {
    ++counters_.icrc_errors;
    return store_.release(packet.data);
  }
  if (!held_.empty() || is_limited(packet)) [[unlikely]] {
    hold(packet, now);
  } else {
    hand_over(packet, now);
    transmit(now);
  }
}

bool Host::is_limited(const Packet& packet) const noexcept {
  return nic_.receive_send_bps > 0 && packet.payload > 0 &&
         packet.opcode != transport::kCnpOpcode &&
         transport::meaning_of(packet.opcode).operation == wire::Operation::send;
}

/// Whatever arrives waits its turn while SENDs are put away more slowly than the line brings them.
void Host::hold(const Packet& packet, Instant now) {
  if (is_limited(packet)) {
    put_away_ps_ = std::max(put_away_ps_, to_ps(now)) +
                   static_cast<std::int64_t>(packet.payload * 8e12 / nic_.receive_send_bps);
  }
  held_.push({not_before(put_away_ps_), packet});
}

void Host::hand_over(const Packet& packet, Instant now) {
  const std::uint32_t qp = packet.dest_qp - kFirstQpn;
  if (qp >= qps_.size()) {
    ++counters_.unknown_qp;
    return store_.release(packet.data);
  }
  if (now >= meter_from_ && now < meter_to_) counters_.metered_payload += packet.payload;
  transport::QueuePair& pair = *qps_[qp].pair;
  pair.receive(packet, now);
  store_.release(packet.data);
  tell(qp, now);
  set_alarm(qp, pair.deadline());
  Slot& slot = qps_[qp];
  if (pair.has_control()) {
    if (!std::exchange(slot.urgent, true)) urgent_.push(qp);
  } else if (!slot.waiting && pair.wants_to_send()) {
    wake(qp);
  }
}

void Host::tell(std::uint32_t qp, transport::Fifo<transport::Completion>& queue, Instant now) {
  while (!queue.empty()) {
    const transport::Completion done = queue.front();
    queue.pop();
    if (application_) application_->on_completion(*this, qp, done, now);
  }
}

void Host::ring_alarms(Instant now) {
  while (!alarms_.empty() && alarms_.top().at <= now) {
    const Alarm alarm = alarms_.top();
    alarms_.pop();
    Slot& slot = qps_[alarm.qp];
    if (alarm.at == slot.alarm) slot.alarm = Instant::max();
    if (slot.pair->deadline() <= now) {
      slot.pair->expire(now);
      tell(alarm.qp, now);
    }
    set_alarm(alarm.qp, slot.pair->deadline());
    wake(alarm.qp);
  }
}

/// Whose turn it is at the port; only when somebody wants_port().
std::uint32_t Host::next_sender() {
  if (!urgent_.empty()) {
    const std::uint32_t qp = urgent_.front();
    urgent_.pop();
    qps_[qp].urgent = false;
    return qp;
  }
  const std::uint32_t qp = keeps_port_ ? keeper_ : ready_.front();
  if (!keeps_port_) {
    ready_.pop();
    burst_ = 0;
  }
  keeps_port_ = false;
  keeper_ = qp;
  qps_[qp].waiting = false;
  return qp;
}

void Host::after_sending(std::uint32_t qp, std::uint8_t opcode) {
  Slot& slot = qps_[qp];
  set_alarm(qp, slot.pair->deadline());
  if (slot.waiting || !slot.pair->wants_to_send()) return;
  const bool ended = transport::ends_message(transport::meaning_of(opcode).position);
  if (qp == keeper_ && !keeps_port_ && !ended && ++burst_ < nic_.arbitration_burst) {
    keeps_port_ = slot.waiting = true;
  } else {
    wake(qp);
  }
}

void Host::send_one(Instant now) {
  const std::uint32_t qp = next_sender();
  transport::QueuePair& pair = *qps_[qp].pair;
  Packet& packet = out_.draft();
  packet = {};
  if (pair.next(now, packet)) {
    const std::uint8_t opcode = packet.opcode;
    put_on_line(opcode, line_bytes(packet), now);
    after_sending(qp, opcode);
  } else {
    set_alarm(qp, pair.paced_until());
  }
  tell(qp, pair.completions(), now);
}

/// What is in the line's draft.
void Host::put_on_line(std::uint8_t opcode, std::uint32_t bytes, Instant now) {
  // A port that got free within this very ns has not been idle.
  const std::int64_t now_ps = to_ps(now);
  const bool idle = now_ps - port_free_ps_ >= kPsPerNs;
  const std::int64_t start = idle ? now_ps : port_free_ps_;
  if (bytes != same_bytes_) {
    same_bytes_ = bytes;
    same_ps_ = static_cast<std::int64_t>(bytes * ps_per_byte_);
  }
  const std::int64_t last_byte = start + same_ps_;
  const bool begins = transport::begins_message(transport::meaning_of(opcode).position);
  const std::int64_t busy = to_ps(nic_.per_packet) + (begins ? to_ps(nic_.per_message) : 0);
  port_free_ps_ = std::max(last_byte, start + busy);
  port_free_at_ = not_before(port_free_ps_);
  ++counters_.sent;
  counters_.sent_line_bytes += bytes;
  out_.enter_draft(last_byte);
}

}  // namespace lw::sim
