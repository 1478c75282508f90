// SPDX-License-Identifier: BSD-3-Clause
#include "transport/queue_pair.h"

namespace lw::transport {

QueuePair::QueuePair(const QpConfig& config, Memory& memory, PayloadStore& store)
    : config_(config),
      has_message_gap_(config.message_gap > Duration{}),
      pacing_(config_),
      requester_(config_, memory, store),
      responder_(config_, memory, store),
      own_notifications_(config.dcqcn) {
  if (datagrams())
    datagram_responder_ = std::make_unique<DatagramResponder>(config_, memory, store);
}

bool QueuePair::post(const Receive& receive) {
  return datagrams() ? datagram_responder_->post(receive) : responder_.post(receive);
}

const ResponderCounters& QueuePair::responder_counters() const noexcept {
  return datagrams() ? datagram_responder_->counters() : responder_.counters();
}

const MessageSink& QueuePair::sink() const noexcept {
  return datagrams() ? datagram_responder_->sink() : responder_.sink();
}

/// A marked packet causes a CNP, at once or once it is generated, unless it is too early for one.
void QueuePair::note_mark(Instant now) noexcept {
  if (!config_.notifies && config_.rate_control != RateControl::dcqcn) return;
  if (!notifications_->on_marked(now)) return;
  const Duration delay = microseconds(config_.dcqcn.cnp_delay_us);
  if (delay > Duration{}) {
    cnp_ready_at_ = std::min(cnp_ready_at_, now + delay);
  } else {
    cnp_due_ = true;
  }
}

void QueuePair::expire(Instant now) {
  if (cnp_ready_at_ <= now) {
    cnp_ready_at_ = kNever;
    cnp_due_ = true;
  }
  if (requester_.deadline() <= now) requester_.expire(now);
}

void QueuePair::notify(Packet& packet) noexcept {
  constexpr std::uint32_t kCnpPayload = 16;
  cnp_due_ = false;
  ++cnps_sent_;
  set_headers(packet, config_);
  packet.opcode = kCnpOpcode;
  packet.payload = kCnpPayload;
}

}  // namespace lw::transport
