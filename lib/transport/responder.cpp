// SPDX-License-Identifier: BSD-3-Clause
#include "transport/responder.h"

#include <algorithm>
#include <bit>

namespace lw::transport {

using wire::NakCode;
using wire::Operation;

namespace {

constexpr std::uint8_t syndrome_of(wire::AethKind kind, std::uint8_t value) noexcept {
  return static_cast<std::uint8_t>((static_cast<unsigned>(kind) << wire::Aeth::kKindShift) | value);
}

}  // namespace

Responder::Responder(const QpConfig& config, Memory& memory, PayloadStore& store)
    : config_(config),
      memory_(memory),
      store_(store),
      sink_(config, memory, store),
      responses_(config, memory, store) {}

Responder::~Responder() {
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (arrived_.test(expected_ + i)) store_.release(place_of(expected_ + i).data);
}

/// Processes a packet with a PSN other than the expected one.
void Responder::on_other(const Packet& packet) {
  const std::int32_t ahead = wire::Psn::distance(psn_of(expected_), packet.psn);
  if (ahead > 0) return on_gap(packet, expected_ + static_cast<std::uint32_t>(ahead));
  const auto behind = static_cast<std::uint32_t>(-ahead);
  if (behind <= expected_) on_duplicate(packet, expected_ - behind);
}

Refusal Responder::fetch(const Packet& packet, Operation operation) {
  const std::uint32_t most = config_.max_dest_rd_atomic;
  if (most > 0 && responses_.fetches() >= most) return Refusal::invalid_request;
  if (operation == Operation::read_request) return execute_read(packet);
  return is_atomic(operation) ? execute_atomic(packet, operation) : Refusal::invalid_request;
}

Refusal Responder::execute_read(const Packet& packet) {
  if (!memory_.allows(packet.r_key, packet.va, packet.length)) return Refusal::access_error;
  const wire::Psn first = psn_of(expected_);
  expected_ += packets_of(packet.length, config_.mtu);
  ++msn_;
  responses_.read(first, packet.va, packet.length, msn_, ResponseQueue::Request::fresh);
  sink_.tell_fetch(Operation::read_request, packet.length);
  return Refusal::none;
}

Refusal Responder::execute_atomic(const Packet& packet, Operation operation) {
  constexpr std::uint32_t kOperand = 8;
  if (packet.va % kOperand != 0) return Refusal::invalid_request;
  if (!memory_.allows(packet.r_key, packet.va, kOperand)) return Refusal::access_error;
  const std::uint64_t original = memory_.load(packet.va);
  if (operation == Operation::fetch_add) {
    memory_.store(packet.va, original + packet.swap_add);
  } else if (original == packet.compare) {
    memory_.store(packet.va, packet.swap_add);
  }
  if (done_atomics_.size() >= config_.max_rd_atomic) done_atomics_.pop();
  done_atomics_.push({expected_, original});
  ++msn_;
  responses_.atomic(psn_of(expected_++), original, msn_, ResponseQueue::Request::fresh);
  sink_.tell_fetch(operation, kOperand);
  return Refusal::none;
}

void Responder::refuse(Refusal refusal) {
  if (refusal == Refusal::no_receive) {
    ++counters_.rnr_naks;
    nak_pending_ = true;  // no NAK for the packets that follow
    responses_.acknowledge(psn_of(expected_),
                           syndrome_of(wire::AethKind::rnr_nak, config_.rnr_timer), msn_);
    return;
  }
  ++counters_.fatal_naks;
  broken_ = true;
  nak(refusal == Refusal::access_error ? NakCode::remote_access_error : NakCode::invalid_request,
      msn_);
}

void Responder::on_gap(const Packet& packet, Sequence s) {
  ++counters_.out_of_sequence;
  if (config_.recovery == LossRecovery::selective_repeat) return keep(packet, s);
  if (nak_pending_) return;
  nak_pending_ = true;
  ++counters_.sequence_naks;
  nak(NakCode::psn_sequence_error, msn_);
}

/// Selective repeat: keeps a packet after a gap, within reorder_packets, and reports it.
void Responder::keep(const Packet& packet, Sequence s) {
  if (s - expected_ >= config_.reorder_packets) return;
  if (waiting_ == 0) arrived_.slide(expected_);
  if (!arrived_.test(s)) {
    make_room(s);
    arrived_.set(s);
    place_of(s) = packet;
    place_of(s).data = store_.keep(packet.data, packet.payload);
    ++waiting_;
  }
  ++counters_.sequence_naks;
  nak(NakCode::psn_sequence_error, packet.psn.value());
}

/// Enlarges kept_ for a packet at `s`.
void Responder::make_room(Sequence s) {
  const std::size_t size = std::bit_ceil(s - expected_ + 1);
  if (size <= kept_.size()) return;
  std::vector<Packet> larger(size);
  for (Sequence kept = expected_; kept < expected_ + kept_.size(); ++kept)
    if (arrived_.test(kept)) larger[kept & (size - 1)] = place_of(kept);
  kept_.swap(larger);
}

/// Drops kept packets before the expected one: a faulty sender gave them a READ's PSNs.
void Responder::drop_passed() {
  for (Sequence s = arrived_.base(); s < expected_; ++s) {
    if (!arrived_.test(s)) continue;
    store_.release(place_of(s).data);
    --waiting_;
  }
  arrived_.slide(expected_);
}

/// Executes what is in order now. A packet that is refused will be sent again.
void Responder::execute_kept(Instant now) {
  drop_passed();
  const Sequence first = expected_;
  while (waiting_ > 0 && !broken_ && !responses_.full() && arrived_.test(expected_)) {
    const Sequence at = expected_;
    const Packet packet = place_of(at);
    arrived_.slide(at + 1);
    --waiting_;
    execute(packet, now);
    store_.release(packet.data);
    if (expected_ == at) break;
    drop_passed();
  }
  if (expected_ != first && !broken_) ack();
}

void Responder::nak(NakCode code, std::uint32_t msn) {
  responses_.acknowledge(psn_of(expected_),
                         syndrome_of(wire::AethKind::nak, static_cast<std::uint8_t>(code)), msn);
}

/// Answers a duplicate again, with the newest state. (IBTA vol. 1, 9.7.1.1 and 9.7.5.1.5)
void Responder::on_duplicate(const Packet& packet, Sequence s) {
  ++counters_.duplicates;
  const Operation operation = meaning_of(packet.opcode).operation;
  if (operation == Operation::read_request) {
    replay_read(packet, s);
  } else if (is_atomic(operation)) {
    replay_atomic(packet, s);
  } else {
    ack();
  }
}

void Responder::replay_read(const Packet& packet, Sequence s) {
  const bool known = s + packets_of(packet.length, config_.mtu) <= expected_;
  if (!known || !memory_.allows(packet.r_key, packet.va, packet.length)) return;
  responses_.read(psn_of(s), packet.va, packet.length, msn_, ResponseQueue::Request::repeated);
}

void Responder::replay_atomic(const Packet& packet, Sequence s) {
  for (std::size_t i = 0; i < done_atomics_.size(); ++i) {
    const DoneAtomic& done = done_atomics_[i];
    if (done.at == s)
      return responses_.atomic(packet.psn, done.original, msn_, ResponseQueue::Request::repeated);
  }
}

void DatagramResponder::receive(const Packet& packet, Instant now) {
  const OpcodeMeaning& meaning = meaning_of(packet.opcode);
  if (config_.transport == wire::Transport::uc && packet.psn != expected_) {
    ++counters_.out_of_sequence;
    sink_.abandon();
  }
  expected_ = packet.psn + 1;
  // A message that begins ends an incomplete one before it, of which the last packet was lost.
  if (meaning.begins) sink_.abandon();
  const bool taken = meaning.known && sink_.in_place(meaning) &&
                     sink_.execute(packet, meaning, now) == Refusal::none;
  if (!taken) sink_.abandon();
  ++(taken ? counters_.packets : counters_.dropped);
}

}  // namespace lw::transport
