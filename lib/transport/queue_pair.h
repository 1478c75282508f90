// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "transport/dcqcn.h"
#include "transport/requester_impl.h"
#include "transport/responder.h"

namespace lw::transport {

/// A QP: requester, responder, congestion control, and the order of their packets. The caller moves
/// packets, passes the time, and owns memory and payload store, which outlive it. One thread.
class alignas(64) QueuePair {
 public:
  QueuePair(const QpConfig& config, Memory& memory, PayloadStore& store);
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  QueuePair(QueuePair&&) = delete;
  QueuePair& operator=(QueuePair&&) = delete;
  ~QueuePair() = default;

  /// Spaces this QP's CNPs together with those of other QPs: see CnpScope. `shared` outlives it.
  void share_notifications(NotificationPoint& shared) noexcept { notifications_ = &shared; }

  /// False, and nothing is queued: see Requester::post() and MessageSink::post().
  bool post(const WorkRequest& request, Instant now) { return requester_.post(request, now); }
  bool post(const Receive& receive);

  /// Processes a packet for this QP with a valid ICRC. The caller keeps the payload's slot. True: a
  /// response, which may have completed requests and moved the deadline. False: a request, which
  /// may have brought arrivals, or a CNP.
  bool receive(const Packet& packet, Instant now);

  /// Overwrites `packet` with the next packet, if one may go now. The caller owns its payload's
  /// slot.
  bool next(Instant now, Packet& packet);
  /// Overwrites `packet` with the pending ACK, NAK or CNP. Requires has_control().
  void next_control(Packet& packet) {
    cnp_due_ ? notify(packet) : responder_.responses().next(packet);
  }
  /// Whether a packet waits, even if congestion control holds it back.
  [[nodiscard]] bool wants_to_send() const noexcept {
    return requester_.ready() || !responder_.responses().empty() || cnp_due_;
  }
  /// Whether next() has an ACK, a NAK or a CNP: small, and never held back.
  [[nodiscard]] bool has_control() const noexcept {
    const ResponseQueue& responses = responder_.responses();
    return cnp_due_ || (!responses.empty() && !responses.data_next());
  }
  /// After a next() without a packet: when congestion control may allow one; kNever: no such time.
  [[nodiscard]] Instant paced_until() const noexcept { return paced_until_; }

  /// When expire() has something to do; kNever: no timer runs.
  [[nodiscard]] Instant deadline() const noexcept {
    return std::min(requester_.deadline(), cnp_ready_at_);
  }
  void expire(Instant now);

  Fifo<Completion>& completions() noexcept { return requester_.completions(); }
  Fifo<Completion>& arrivals() noexcept {
    return datagrams() ? datagram_responder_->arrivals() : responder_.arrivals();
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
  void note_mark(Instant now) noexcept;
  void notify(Packet& packet) noexcept;

  QpConfig config_;                // of all parts
  Instant cnp_ready_at_ = kNever;  // a CNP that is being generated
  Instant paced_until_ = kNever;
  Instant message_ready_at_;  // the next message may begin
  bool cnp_due_ = false;
  bool has_message_gap_ = false;
  bool response_was_last_ = false;
  Pacing pacing_;
  Requester requester_;
  Responder responder_;
  std::unique_ptr<DatagramResponder> datagram_responder_;  // of UC and UD only
  NotificationPoint own_notifications_;
  NotificationPoint* notifications_ = &own_notifications_;
  std::uint64_t cnps_sent_ = 0;
};

// In the header because a simulation spends most of its time in these three.

inline bool QueuePair::receive(const Packet& packet, Instant now) {
  if (packet.congestion_experienced) note_mark(now);
  if (meaning_of(packet.opcode).response) {
    requester_.receive(packet, now);
    return true;
  }
  if (packet.opcode == kCnpOpcode) {
    pacing_.on_cnp(now);
  } else if (datagrams()) {
    datagram_responder_->receive(packet, now);
  } else {
    responder_.receive(packet, now);
  }
  return false;
}

/// Congestion control and the NIC's own work hold back data, never ACKs and CNPs.
inline bool QueuePair::may_pace_out(Instant now) noexcept {
  if (message_ready_at_ > now) [[unlikely]] {
    paced_until_ = message_ready_at_;
    return false;
  }
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
  // READ responses and requests alternate.
  response_was_last_ = response && (!request || !response_was_last_);
  response_was_last_ ? responses.next(packet) : requester_.next(now, packet);
  pacing_.sent(packet, now);
  if (has_message_gap_ && !response_was_last_ && meaning_of(packet.opcode).ends) [[unlikely]]
    message_ready_at_ = now + config_.message_gap;
  return true;
}

}  // namespace lw::transport
