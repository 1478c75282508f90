// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "transport/dcqcn.h"
#include "transport/requester_impl.h"
#include "transport/responder.h"

namespace lw::transport {

/// A whole QP: requester and responder, congestion control, and the order in which their packets
/// go out. The caller moves packets, tells the time, and owns memory and payload store, which
/// outlive it. One thread.
class QueuePair {
 public:
  QueuePair(const QpConfig& config, Memory& memory, PayloadStore& store);

  bool post(const WorkRequest& request, Instant now) { return requester_.post(request, now); }
  void post(const Receive& receive);

  /// A packet that arrived for this QP, its ICRC right. Its payload's slot stays the caller's.
  /// True: an answer, which may have completed requests and moved the deadline; false: a request,
  /// which may have brought arrivals, or a CNP.
  bool receive(const Packet& packet, Instant now);

  /// The next packet to send, in place of what `packet` was, if one may go now. Its payload's slot
  /// is the caller's.
  bool next(Instant now, Packet& packet);
  /// The one that has_control() tells of, in place of what `packet` was.
  void next_control(Packet& packet) {
    cnp_due_ ? notify(packet) : responder_.responses().next(packet);
  }
  /// Whether next() is worth asking: something waits, be it for congestion control.
  [[nodiscard]] bool wants_to_send() const noexcept {
    return requester_.ready() || !responder_.responses().empty() || cnp_due_;
  }
  /// Whether next() would give an ACK, a NAK or a CNP: small, and not to be kept waiting.
  [[nodiscard]] bool has_control() const noexcept {
    const ResponseQueue& responses = responder_.responses();
    return cnp_due_ || (!responses.empty() && !responses.data_next());
  }
  /// After a next() that gave none: when congestion control may let one go; kNever: not by itself.
  [[nodiscard]] Instant paced_until() const noexcept { return paced_until_; }

  [[nodiscard]] Instant deadline() const noexcept { return requester_.deadline(); }
  void expire(Instant now) { requester_.expire(now); }

  Fifo<Completion>& completions() noexcept { return requester_.completions(); }
  Fifo<Completion>& arrivals() noexcept {
    return datagrams() ? datagram_responder_.arrivals() : responder_.arrivals();
  }
  [[nodiscard]] bool broken() const noexcept { return requester_.broken() || responder_.broken(); }

  [[nodiscard]] const QpConfig& config() const noexcept { return config_; }
  [[nodiscard]] const Requester& requester() const noexcept { return requester_; }
  [[nodiscard]] const ResponderCounters& responder_counters() const noexcept;
  [[nodiscard]] const MessageSink& sink() const noexcept;
  [[nodiscard]] const Pacing& pacing() const noexcept { return pacing_; }
  [[nodiscard]] std::uint64_t cnps_sent() const noexcept { return cnps_sent_; }

 private:
  [[nodiscard]] bool datagrams() const noexcept { return config_.transport != wire::Transport::rc; }
  [[nodiscard]] bool may_pace_out(Instant now) noexcept;
  void notify(Packet& packet) noexcept;

  QpConfig config_;
  Requester requester_;
  Responder responder_;
  DatagramResponder datagram_responder_;
  Pacing pacing_;
  NotificationPoint notification_;
  bool cnp_due_ = false;
  bool response_was_last_ = false;
  std::uint64_t cnps_sent_ = 0;
  Instant paced_until_ = kNever;
};

// Here, because a simulation is little else than these three.

inline bool QueuePair::receive(const Packet& packet, Instant now) {
  if (packet.congestion_experienced && config_.rate_control == RateControl::dcqcn) {
    cnp_due_ = notification_.on_marked(now) || cnp_due_;
  }
  if (meaning_of(packet.opcode).response) {
    requester_.receive(packet, now);
    return true;
  }
  if (packet.opcode == kCnpOpcode) {
    pacing_.on_cnp(now);
  } else if (datagrams()) {
    datagram_responder_.receive(packet, now);
  } else {
    responder_.receive(packet, now);
  }
  return false;
}

/// Data waits for its turn by congestion control; ACKs and CNPs never do.
inline bool QueuePair::may_pace_out(Instant now) noexcept {
  const Instant ready = pacing_.ready_at(now);
  if (ready <= now) return true;
  paced_until_ = pacing_.wake(ready);
  return false;
}

inline bool QueuePair::next(Instant now, Packet& packet) {
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

}  // namespace lw::transport
