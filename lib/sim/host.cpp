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
/// ps >= 0. Unsigned, which divides in half the steps.
constexpr Instant not_before(std::int64_t ps) noexcept {
  return instant_from_ns(
      static_cast<std::int64_t>((static_cast<std::uint64_t>(ps) + kPsPerNs - 1) / kPsPerNs));
}

}  // namespace

Host::Host(std::uint16_t number, const NicConfig& nic, transport::Memory memory,
           transport::PayloadStore& store, Line& out)
    : number_(number),
      nic_(nic),
      ps_per_byte_(8e12 / nic.rate_bps),
      limits_sends_(nic.receive_send_bps > 0),
      costs_(nic.per_packet > Duration{} || nic.per_message > Duration{}),
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
  Slot& slot = qps_[qp];
  const bool taken = slot.pair->post(request, now);
  wake(qp, slot);
  transmit(now);
  return taken;
}

void Host::let_go_held(Instant now) {
  while (!held_.empty() && held_.front().until <= now) {
    const Packet packet = held_.front().packet;
    held_.pop();
    hand_over(packet, now, false);
  }
}

/// Damaged, or at a host that may have to hold it.
void Host::receive_unusual(const Packet& packet, Instant now) {
  if (packet.icrc_wrong) {
    ++counters_.icrc_errors;
    return store_.release(packet.data);
  }
  if (!held_.empty() || is_limited(packet)) return hold(packet, now);
  hand_over(packet, now, true);
  transmit(now);
}

bool Host::is_limited(const Packet& packet) const noexcept {
  return packet.payload > 0 && packet.opcode != transport::kCnpOpcode &&
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

[[gnu::flatten]] void Host::hand_over(const Packet& packet, Instant now, bool alone) {
  const std::uint32_t qp = packet.dest_qp - kFirstQpn;
  if (qp >= qps_.size()) {
    ++counters_.unknown_qp;
    return store_.release(packet.data);
  }
  if (now >= meter_from_ && now < meter_to_) counters_.metered_payload += packet.payload;
  Slot& slot = qps_[qp];
  transport::QueuePair& pair = *slot.pair;
  const bool answered = pair.receive(packet, now);
  store_.release(packet.data);
  tell_of(qp, pair.completions(), now);
  if (answered) {  // else no deadline moved
    set_alarm(qp, slot, pair.deadline());
  } else {  // else nothing arrived
    tell_of(qp, pair.arrivals(), now);
  }
  if (pair.has_control()) {
    answer(qp, slot, now, alone);
  } else if (!slot.waiting && pair.wants_to_send()) {
    wake(qp, slot);
  }
}

/// The QP has an ACK or a CNP, which goes at once where nobody else wants the port.
void Host::answer(std::uint32_t qp, Slot& slot, Instant now, bool alone) {
  if (alone && !wants_port() && port_free_at_ <= now) return send_control(qp, slot, now);
  if (std::exchange(slot.urgent, true)) return;
  ++wanting_;
  urgent_.push(qp);
}

void Host::tell_of(std::uint32_t qp, transport::Fifo<transport::Completion>& queue, Instant now) {
  while (!queue.empty()) {
    const transport::Completion done = queue.front();
    queue.pop();
    if (application_) application_->on_completion(*this, qp, done, now);
  }
}

void Host::ring_alarms(Instant now) {
  while (alarm_at_ <= now) {
    const Alarm alarm = alarms_.top();
    alarms_.pop();
    alarm_at_ = alarms_.empty() ? Instant::max() : alarms_.top().at;
    Slot& slot = qps_[alarm.qp];
    if (alarm.at == slot.alarm) slot.alarm = Instant::max();
    if (slot.pair->deadline() <= now) {
      slot.pair->expire(now);
      tell_of(alarm.qp, slot.pair->completions(), now);
    }
    set_alarm(alarm.qp, slot, slot.pair->deadline());
    wake(alarm.qp, slot);
  }
}

[[gnu::flatten]] void Host::transmit_all(Instant now) {
  do {
    send(next_sender(), now);
  } while (port_free_at_ <= now && wants_port());
}

/// Whose turn it is at the port; only when somebody wants_port().
std::uint32_t Host::next_sender() {
  --wanting_;
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

/// The QP has sent: whether it sends again, and when.
void Host::go_on(std::uint32_t qp, Slot& slot, std::uint8_t opcode) {
  if (slot.waiting || !slot.pair->wants_to_send()) return;
  if (qp != keeper_ || keeps_port_) return wake(qp, slot);
  const bool ended = transport::meaning_of(opcode).ends;
  if (ended || ++burst_ >= nic_.arbitration_burst) {
    if (!ready_.empty()) return wake(qp, slot);
    burst_ = 0;  // alone: the last in turn is the next, and no queue is needed to say so
  }
  keeps_port_ = slot.waiting = true;
  ++wanting_;
}

/// The QP's next packet, if it gives one.
void Host::send(std::uint32_t qp, Instant now) {
  Slot& slot = qps_[qp];
  transport::QueuePair& pair = *slot.pair;
  Line::Flight& draft = out_.draft();
  if (pair.next(now, draft.packet)) {
    const std::uint8_t opcode = draft.packet.opcode;
    put_on_line(draft, now);
    set_alarm(qp, slot, pair.deadline());
    go_on(qp, slot, opcode);
  } else {
    set_alarm(qp, slot, pair.paced_until());
  }
  tell_of(qp, pair.completions(), now);
}

/// The QP's ACK, NAK or CNP, out of turn.
void Host::send_control(std::uint32_t qp, Slot& slot, Instant now) {
  Line::Flight& draft = out_.draft();
  slot.pair->next_control(draft.packet);
  const std::uint8_t opcode = draft.packet.opcode;
  put_on_line(draft, now);
  go_on(qp, slot, opcode);
}

/// How long a packet keeps the port at least, whatever its length.
std::int64_t Host::busy_ps(std::uint8_t opcode) const noexcept {
  const bool begins = transport::meaning_of(opcode).begins;
  return to_ps(nic_.per_packet) + (begins ? to_ps(nic_.per_message) : 0);
}

/// What a packet takes of the line: reckoned when it isn't like the one before.
void Host::measure(const Packet& packet) noexcept {
  if (packet.opcode == same_opcode_ && packet.payload == same_payload_) return;
  same_opcode_ = packet.opcode;
  same_payload_ = packet.payload;
  same_bytes_ = line_bytes(packet);
  same_ps_ = static_cast<std::int64_t>(same_bytes_ * ps_per_byte_);
}

void Host::put_on_line(Line::Flight& draft, Instant now) {
  measure(draft.packet);
  // A port that got free within this very ns has not been idle.
  const std::int64_t start = port_free_at_ < now ? to_ps(now) : port_free_ps_;
  const std::int64_t last_byte = start + same_ps_;
  port_free_ps_ = costs_ ? std::max(last_byte, start + busy_ps(draft.packet.opcode)) : last_byte;
  port_free_at_ = not_before(port_free_ps_);
  ++counters_.sent;
  counters_.sent_line_bytes += same_bytes_;
  out_.enter(draft, last_byte);
}

}  // namespace lw::sim
