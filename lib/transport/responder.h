// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "transport/memory.h"
#include "transport/packet.h"
#include "transport/response_queue.h"

namespace lw::transport {

/// Counters of a responder.
struct ResponderCounters {
  std::uint64_t packets = 0;     // requests executed
  std::uint64_t duplicates = 0;  // executed before: answered again
  std::uint64_t out_of_sequence = 0;
  std::uint64_t sequence_naks = 0, rnr_naks = 0, fatal_naks = 0;
  std::uint64_t dropped = 0;  // UC and UD: packets of incomplete messages
};

/// The receiving half of an RC QP: executes requests in order and queues the responses. Sends one
/// NAK per gap. Duplicates are answered again and never executed again.
/// (IBTA vol. 1, 9.7.4 and 9.7.5)
///
/// While ResponseQueue::kMost responses wait, requests are dropped, as if they were lost on the
/// way.
///
/// Selective repeat: a bitmap and a buffer keep the packets after a gap, as in IRN (see Requester).
/// Each kept packet causes a NAK with the expected PSN and, in the field of the MSN, its own PSN.
/// (IRN adds a field for it, which no RoCE header has.)
class Responder {
 public:
  /// All three outlive it.
  Responder(const QpConfig& config, Memory& memory, PayloadStore& store);
  ~Responder();
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  Responder(Responder&&) = delete;
  Responder& operator=(Responder&&) = delete;

  bool post(const Receive& receive) { return sink_.post(receive); }
  /// Processes a request for this QP with a valid ICRC. The caller keeps the payload's slot.
  void receive(const Packet& packet, Instant now);

  ResponseQueue& responses() noexcept { return responses_; }
  [[nodiscard]] const ResponseQueue& responses() const noexcept { return responses_; }
  Fifo<Completion>& arrivals() noexcept { return sink_.arrivals(); }
  [[nodiscard]] const MessageSink& sink() const noexcept { return sink_; }
  [[nodiscard]] const ResponderCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] bool broken() const noexcept { return broken_; }

 private:
  /// PSN without wrap-around: the stream's first is 0.
  using Sequence = std::uint64_t;

  /// An atomic's response, kept so that a duplicate isn't executed again.
  struct DoneAtomic {
    Sequence at = 0;
    std::uint64_t original = 0;
  };

  [[nodiscard]] wire::Psn psn_of(Sequence s) const noexcept {
    return config_.receive_psn + static_cast<std::uint32_t>(s & wire::Psn::kMask);
  }
  void execute(const Packet& packet, Instant now);
  Refusal execute_read(const Packet& packet);
  Refusal execute_atomic(const Packet& packet, wire::Operation operation);
  [[gnu::noinline]] Refusal fetch(const Packet& packet, wire::Operation operation);
  // Rare, so out of line.
  [[gnu::noinline]] void refuse(Refusal refusal);
  [[gnu::noinline]] void on_other(const Packet& packet);
  [[gnu::noinline]] void execute_kept(Instant now);
  void make_room(Sequence s);
  void drop_passed();
  [[nodiscard]] Packet& place_of(Sequence s) noexcept { return kept_[s & (kept_.size() - 1)]; }

  void on_duplicate(const Packet& packet, Sequence s);
  void replay_read(const Packet& packet, Sequence s);
  void replay_atomic(const Packet& packet, Sequence s);
  void on_gap(const Packet& packet, Sequence s);
  void keep(const Packet& packet, Sequence s);

  void ack();
  void nak(wire::NakCode code, std::uint32_t msn);
  [[nodiscard]] std::uint8_t credit_syndrome() const noexcept {
    const bool counted = config_.end_to_end_credits && !config_.endless_receives;
    return counted ? credit_code(sink_.receives()) : wire::Aeth::kUnlimitedCredits;
  }

  // What each packet needs comes first: see Requester.
  const QpConfig& config_;
  Memory& memory_;
  PayloadStore& store_;
  Sequence expected_ = 0;
  std::uint32_t msn_ = 0;     // 24 bits on the wire
  bool nak_pending_ = false;  // a NAK was sent for the gap at expected_
  bool broken_ = false;
  std::size_t waiting_ = 0;  // packets in kept_
  ResponderCounters counters_;
  MessageSink sink_;
  ResponseQueue responses_;

  Fifo<DoneAtomic> done_atomics_;
  // Selective repeat.
  SlidingBits arrived_;  // packets after a gap, from expected_ on
  // the packets in arrived_, by sequence number modulo its size, a power of two
  std::vector<Packet> kept_;
};

/// The receiving half of a UC or UD QP: delivers complete messages only and sends no response.
/// UC: a gap drops its message and all packets up to the next message's first. UD: each packet is
/// a message. (IBTA vol. 1, 9.8.2 and 9.8.3)
class DatagramResponder {
 public:
  /// All three outlive it.
  DatagramResponder(const QpConfig& config, Memory& memory, PayloadStore& store)
      : config_(config), sink_(config, memory, store), expected_(config.receive_psn) {}

  bool post(const Receive& receive) { return sink_.post(receive); }
  /// Processes a request for this QP with a valid ICRC. The caller keeps the payload's slot.
  void receive(const Packet& packet, Instant now);

  Fifo<Completion>& arrivals() noexcept { return sink_.arrivals(); }
  [[nodiscard]] const MessageSink& sink() const noexcept { return sink_; }
  [[nodiscard]] const ResponderCounters& counters() const noexcept { return counters_; }

 private:
  const QpConfig& config_;
  MessageSink sink_;
  wire::Psn expected_;
  ResponderCounters counters_;
};

// In the header because each request that a simulation delivers passes through them.

inline void Responder::receive(const Packet& packet, Instant now) {
  if (broken_ || responses_.full()) return;
  if (packet.psn != psn_of(expected_)) [[unlikely]]
    return on_other(packet);
  execute(packet, now);
  if (waiting_ > 0) [[unlikely]]
    execute_kept(now);
}

inline void Responder::execute(const Packet& packet, Instant now) {
  const OpcodeMeaning& meaning = meaning_of(packet.opcode);
  if (!meaning.known || !sink_.in_place(meaning)) return refuse(Refusal::invalid_request);
  const bool transfer =
      meaning.operation == wire::Operation::send || meaning.operation == wire::Operation::write;
  const Refusal refusal =
      transfer ? sink_.execute(packet, meaning, now) : fetch(packet, meaning.operation);
  if (refusal != Refusal::none) return refuse(refusal);
  ++counters_.packets;
  nak_pending_ = false;
  if (!transfer) return;
  ++expected_;
  if (meaning.ends) ++msn_;
  if (packet.ack_req) ack();
}

inline void Responder::ack() {
  responses_.acknowledge(psn_of(expected_ - 1), credit_syndrome(), msn_);
}

}  // namespace lw::transport
