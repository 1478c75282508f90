// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/send_watch.h"

#include <algorithm>
#include <cmath>

namespace lw::sim {

using transport::Packet, transport::QueuePair, wire::Psn;

namespace {

Duration nanoseconds(double ns) noexcept {
  return Duration{static_cast<std::int64_t>(std::llround(ns))};
}

}  // namespace

bool SendWatch::left(const Packet& packet, const QueuePair& pair, Instant now) {
  *own_ns_ += transport::wire_bytes(packet) * way_.sender_ns;
  if (full_since_ != Instant::max()) window_ += now - full_since_;
  if (!began_) next_ = packet.psn;
  const bool again = Psn::distance(next_, packet.psn) < 0;
  if (again) {
    sent_again(packet, pair, now);
  } else {
    sent_.push_back({now, *own_ns_});
    next_ = packet.psn + 1;
    const std::uint64_t outstanding = pair.requester().outstanding_psns();
    while (sent_.size() > outstanding) sent_.pop_front();
  }
  began_ = true;
  last_ = packet.psn;
  full_since_ = is_full(packet, pair) ? now : Instant::max();
  return again;
}

/// The first of the packets that are sent again has been missing since it was sent. Those that
/// follow it in order are late for the same reason. Selective repeat uses what was sent meanwhile.
void SendWatch::sent_again(const Packet& packet, const QueuePair& pair, Instant now) {
  const auto back = static_cast<std::size_t>(Psn::distance(packet.psn, next_));
  if (back > sent_.size()) return;  // acknowledged meanwhile
  Sent& before = sent_[sent_.size() - back];
  const Sent again{now, *own_ns_};
  const double packet_ns = transport::wire_bytes(packet) * way_.sender_ns;
  if (packet.psn != last_ + 1) {
    const Sent& since = before.at < repeated_.at ? repeated_ : before;
    Duration missing = now - since.at;
    if (pair.config().recovery == transport::LossRecovery::go_back_n) {
      wasted_ns_ += static_cast<double>(back) * packet_ns;
    } else {
      wasted_ns_ += packet_ns;
      missing -= nanoseconds(again.own_ns - since.own_ns - packet_ns);
    }
    recovery_ += std::max(missing, Duration{});
    repeated_ = again;
  }
  before = again;
}

/// Whether the next packet must wait for an ACK.
bool SendWatch::is_full(const Packet& packet, const QueuePair& pair) noexcept {
  const transport::QpConfig& config = pair.config();
  const transport::Requester& requester = pair.requester();
  if (requester.outstanding_psns() >= config.psn_window) return true;
  return transport::meaning_of(packet.opcode).ends &&
         requester.outstanding_wqes() >= std::min(config.max_outstanding_wqe, config.tx_depth);
}

SendWatch::Sums SendWatch::sums(Instant now) const noexcept {
  const Duration waits = full_since_ < now ? now - full_since_ : Duration{};
  return {.recovery = recovery_,
          .window = window_ + waits,
          .sent_ns = *own_ns_,
          .wasted_ns = wasted_ns_};
}

/// Each part takes what is left of the time at most: the sums of a QP also hold what delayed the
/// messages before this one, and a sender may be a little ahead of the receiver in virtual time.
TimeParts parts_of(const SendWay& way, const SendWatch::Sums& at_ready, Instant ready,
                   const SendWatch::Sums& at_left, Instant left, std::uint64_t bytes,
                   Instant arrived) {
  TimeParts parts;
  Duration rest = arrived - ready;
  const auto claim = [&](Duration part) {
    const Duration taken = std::clamp(part, Duration{}, rest);
    rest -= taken;
    return taken;
  };
  parts.path = claim(way.delay);
  parts.recovery = claim(std::min(at_left.recovery - at_ready.recovery, left - ready));
  const double useful_ns =
      at_left.sent_ns - at_ready.sent_ns -
      std::min(at_left.wasted_ns - at_ready.wasted_ns, static_cast<double>(parts.recovery.count()));
  Packet last;
  last.opcode = transport::OpcodeSet(wire::Transport::rc)
                    .of(wire::Operation::send, wire::Position::last, true);
  last.payload = static_cast<std::uint32_t>((bytes - 1) % way.mtu + 1);
  parts.serialisation = claim(nanoseconds(useful_ns * way.slowest_ns / way.sender_ns +
                                          transport::wire_bytes(last) * way.further_ns));
  parts.window = claim(at_left.window - at_ready.window);
  parts.congestion = rest;
  return parts;
}

}  // namespace lw::sim
