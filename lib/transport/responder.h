// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>

#include "transport/message_sink.h"
#include "transport/packet.h"
#include "transport/response_queue.h"

namespace lw::transport {

/// What a responder saw, counted.
struct ResponderCounters {
  std::uint64_t packets = 0;     // requests that were executed
  std::uint64_t duplicates = 0;  // already executed: answered again, not executed
  std::uint64_t out_of_sequence = 0;
  std::uint64_t sequence_naks = 0, rnr_naks = 0, fatal_naks = 0;
  std::uint64_t dropped = 0;  // unreliable services: with a message whose other parts are missing
};

/// The answering half of an RC QP. Executes requests in order into its memory and queues what is
/// to be answered. One NAK a gap; duplicates are answered again and never executed again.
/// (IBTA vol. 1, 9.7.4 and 9.7.5)
class Responder {
 public:
  Responder(const QpConfig& config, Memory& memory, PayloadStore& store);
  ~Responder();
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  Responder(Responder&&) = delete;
  Responder& operator=(Responder&&) = delete;

  void post(const Receive& receive) { sink_.post(receive); }
  /// A request for this QP, its ICRC right. The payload's slot stays the caller's.
  void receive(const Packet& packet, Instant now);

  ResponseQueue& responses() noexcept { return responses_; }
  [[nodiscard]] const ResponseQueue& responses() const noexcept { return responses_; }
  Fifo<Completion>& arrivals() noexcept { return sink_.arrivals(); }
  [[nodiscard]] const MessageSink& sink() const noexcept { return sink_; }
  [[nodiscard]] const ResponderCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] bool broken() const noexcept { return broken_; }

 private:
  /// PSNs without their wrapping: the stream's first is 0.
  using Sequence = std::uint64_t;

  /// An atomic's answer, kept so that a repeated request isn't executed again.
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
  // Rare: kept out of line, and out of the way of what isn't.
  [[gnu::noinline]] void refuse(Refusal refusal);
  [[gnu::noinline]] void on_other(const Packet& packet);
  [[gnu::noinline]] void execute_kept(Instant now);

  void on_duplicate(const Packet& packet, Sequence s);
  void replay_read(const Packet& packet, Sequence s);
  void replay_atomic(const Packet& packet, Sequence s);
  void on_gap(const Packet& packet, Sequence s);
  void keep(const Packet& packet, Sequence s);

  void ack();
  void nak(Sequence s, wire::NakCode code);
  [[nodiscard]] std::uint8_t credit_syndrome() const noexcept {
    const bool counted = config_.end_to_end_credits && !config_.endless_receives;
    return counted ? credit_code(sink_.receives()) : wire::Aeth::kUnlimitedCredits;
  }

  QpConfig config_;
  Memory& memory_;
  PayloadStore& store_;
  MessageSink sink_;
  ResponseQueue responses_;

  Sequence expected_ = 0;
  std::uint32_t msn_ = 0;     // 24 bits on the wire
  bool nak_pending_ = false;  // the gap at `expected_` has had its NAK
  bool broken_ = false;
  Fifo<DoneAtomic> done_atomics_;
  std::map<Sequence, Packet> kept_;  // selective repeat: what waits behind a gap
  Sequence asked_ = 0;               // selective repeat: gaps below it have had their NAKs
  ResponderCounters counters_;
};

/// The receiving half of a UC or UD QP: whole messages or none, and not a word to the sender.
/// UC: a gap drops the message it is in and what follows up to the next that begins. UD: every
/// packet is a message. (IBTA vol. 1, 9.8.2 and 9.8.3)
class DatagramResponder {
 public:
  DatagramResponder(const QpConfig& config, Memory& memory, PayloadStore& store)
      : config_(config), sink_(config, memory, store), expected_(config.receive_psn) {}

  void post(const Receive& receive) { sink_.post(receive); }
  /// A request for this QP, its ICRC right. The payload's slot stays the caller's.
  void receive(const Packet& packet, Instant now);

  Fifo<Completion>& arrivals() noexcept { return sink_.arrivals(); }
  [[nodiscard]] const MessageSink& sink() const noexcept { return sink_; }
  [[nodiscard]] const ResponderCounters& counters() const noexcept { return counters_; }

 private:
  QpConfig config_;
  MessageSink sink_;
  wire::Psn expected_;
  ResponderCounters counters_;
};

// Here, because each request that a simulation delivers passes through them.

inline void Responder::receive(const Packet& packet, Instant now) {
  if (broken_) return;
  if (packet.psn != psn_of(expected_)) [[unlikely]]
    return on_other(packet);
  execute(packet, now);
  if (!kept_.empty()) execute_kept(now);
}

inline void Responder::execute(const Packet& packet, Instant now) {
  const OpcodeMeaning& meaning = meaning_of(packet.opcode);
  if (!meaning.known || !sink_.in_place(meaning)) return refuse(Refusal::invalid_request);
  const bool transfer =
      meaning.operation == wire::Operation::send || meaning.operation == wire::Operation::write;
  const Refusal refusal =
      transfer ? sink_.take(packet, meaning, now) : fetch(packet, meaning.operation);
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
