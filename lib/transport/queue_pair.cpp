// SPDX-License-Identifier: BSD-3-Clause
#include "transport/queue_pair.h"

namespace lw::transport {

QueuePair::QueuePair(const QpConfig& config, Memory& memory, PayloadStore& store)
    : config_(config),
      requester_(config, memory, store),
      responder_(config, memory, store),
      datagram_responder_(config, memory, store),
      pacing_(config),
      notification_(config.dcqcn) {}

void QueuePair::post(const Receive& receive) {
  datagrams() ? datagram_responder_.post(receive) : responder_.post(receive);
}

Fifo<Completion>& QueuePair::arrivals() noexcept {
  return datagrams() ? datagram_responder_.arrivals() : responder_.arrivals();
}

const ResponderCounters& QueuePair::responder_counters() const noexcept {
  return datagrams() ? datagram_responder_.counters() : responder_.counters();
}

const MessageSink& QueuePair::sink() const noexcept {
  return datagrams() ? datagram_responder_.sink() : responder_.sink();
}

void QueuePair::receive(const Packet& packet, Instant now) {
  if (packet.congestion_experienced && config_.rate_control == RateControl::dcqcn) {
    cnp_due_ = notification_.on_marked(now) || cnp_due_;
  }
  if (packet.opcode == kCnpOpcode) {
    pacing_.on_cnp(now);
  } else if (!is_request(packet.opcode)) {
    requester_.receive(packet, now);
  } else if (datagrams()) {
    datagram_responder_.receive(packet, now);
  } else {
    responder_.receive(packet, now);
  }
}

/// Data waits for its turn by congestion control; ACKs and CNPs never do.
bool QueuePair::may_pace_out(Instant now) noexcept {
  const Instant ready = pacing_.ready_at(now);
  if (ready <= now) return true;
  paced_until_ = pacing_.wake(ready);
  return false;
}

bool QueuePair::next(Instant now, Packet& packet) {
  paced_until_ = kNever;
  if (cnp_due_) {
    notify(packet);
    return true;
  }
  ResponseQueue& responses = responder_.responses();
  const bool response = !responses.empty();
  if (response && !responses.data_next()) {
    responses.next(packet);
    return true;
  }
  const bool request = requester_.ready();
  if ((!response && !request) || !may_pace_out(now)) return false;
  // READ responses and requests take turns.
  response_was_last_ = response && (!request || !response_was_last_);
  response_was_last_ ? responses.next(packet) : requester_.next(now, packet);
  pacing_.sent(packet, now);
  return true;
}

void QueuePair::notify(Packet& packet) noexcept {
  constexpr std::uint32_t kCnpPayload = 16;
  cnp_due_ = false;
  ++cnps_sent_;
  packet.opcode = kCnpOpcode;
  packet.payload = kCnpPayload;
  packet.dest_qp = config_.dest_qpn;
  packet.source_qp = config_.qpn;
  packet.from_host = config_.host;
  packet.to_host = config_.dest_host;
}

}  // namespace lw::transport
