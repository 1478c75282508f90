// SPDX-License-Identifier: BSD-3-Clause
// The parts of Requester that few packets pass through: retransmissions, READs, NAKs and timeouts.
#include "transport/requester.h"

#include <algorithm>

#include "transport/requester_impl.h"

namespace lw::transport {

Requester::Requester(const QpConfig& config, Memory& memory, PayloadStore& store)
    : config_(config),
      memory_(memory),
      store_(store),
      opcodes_(opcodes_of(config.transport)),
      window_(config.recovery == LossRecovery::selective_repeat
                  ? std::min(config.psn_window, config.reorder_packets)
                  : config.psn_window),
      retries_left_(config.retry_count),
      rnr_left_(config.rnr_retry),
      timer_(config) {}

/// Selective repeat: sends one packet again, independent of the cursor.
void Requester::next_lost(Instant now, Packet& packet) {
  const Sequence at = lost_;
  const Wqe& wqe = wqe_at(at);
  ++counters_.packets;
  ++counters_.retransmitted;
  make(packet, wqe, at);
  packet.ack_req = true;
  note_sent_again(wqe, at);
  resent_.sent(at, high_);
  if (retry_at_ == kNever) retry_at_ = timer_.from(now);
  look_again();
}

/// Selective repeat: packet `at`, which find_lost() returned, has been sent again.
void Requester::note_sent_again(const Wqe& wqe, Sequence at) noexcept {
  if (!resends_oldest_ && !lost_again_.empty()) return lost_again_.pop();  // the first of them
  if (resends_oldest_ || at < reported_to_) {
    lost_from_ = wqe.fetches ? wqe.end() : at + 1;
    resends_oldest_ = false;
  } else {
    resends_newest_ = false;
  }
}

/// Selective repeat: the next packet to send again, or kNone. After an expiry it is the oldest;
/// otherwise it is one that was lost again, or a packet without a report, if a later packet has
/// one; after an expiry, the newest is the last. A READ request uses several PSNs: only the first
/// is reported.
Requester::Sequence Requester::find_lost() noexcept {
  if (resends_oldest_) return una_;
  for (; !lost_again_.empty(); lost_again_.pop()) {
    const Sequence s = lost_again_.front();
    if (s >= una_ && !reported_.test(s)) return s;
  }
  for (Sequence s = std::max(lost_from_, una_); s < reported_to_; ++s) {
    lost_from_ = s;
    if (reported_.test(s)) continue;
    const Wqe& wqe = wqe_at(s);
    if (!wqe.fetches || s == wqe.first) return s;
    s = wqe.end() - 1;
  }
  return resends_newest_ ? newest_unreported() : kNone;
}

/// Selective repeat: the newest packet, if neither its report nor its turn comes; or kNone. Not a
/// READ request, whose repetition would bring all its data again.
Requester::Sequence Requester::newest_unreported() noexcept {
  const Sequence newest = high_ - 1;
  resends_newest_ = newest >= std::max(una_, reported_to_) && cursor_ == high_ &&
                    lost_from_ <= newest && !wqe_at(newest).fetches;
  return resends_newest_ ? newest : kNone;
}

Requester::Wqe& Requester::wqe_at(Sequence s) noexcept {
  std::size_t low = 0, high = queue_.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high + 1) / 2;
    queue_[middle].first <= s ? low = middle : high = middle - 1;
  }
  return queue_[low];
}

/// A READ requests the data of packet `index` and all after it.
void Requester::fill_fetch(Packet& packet, const Wqe& wqe, std::uint64_t index) const noexcept {
  const WorkRequest& request = wqe.request;
  const std::uint64_t offset = index * config_.mtu;
  packet.opcode = opcodes_.of(request.operation, wire::Position::only);
  packet.va = request.remote_va + offset;
  packet.r_key = request.r_key;
  packet.length = static_cast<std::uint32_t>(request.length - offset);
  packet.swap_add = request.swap_add;
  packet.compare = request.compare;
  packet.ack_req = true;
}

using wire::AethKind;
using wire::NakCode;
using wire::Operation;

namespace {

constexpr std::uint8_t kUnlimited = 7;  // RNR retry count

Status status_of(NakCode code) noexcept {
  switch (code) {
    case NakCode::remote_access_error:
      return Status::remote_access_error;
    case NakCode::remote_operational_error:
      return Status::remote_operational_error;
    default:
      return Status::remote_invalid_request;
  }
}

}  // namespace

/// Processes a response other than an ACK.
void Requester::on_other(const Packet& packet, Sequence s, Instant now) {
  const Operation operation = meaning_of(packet.opcode).operation;
  if (operation == Operation::read_response || operation == Operation::atomic_ack) {
    on_data(packet, s, now);
  } else if (kind_of(packet.syndrome) == AethKind::rnr_nak) {
    on_rnr(packet, s, now);
  } else {
    on_nak(packet, s, now);
  }
}

void Requester::take_credits(const Packet& packet) noexcept {
  const std::uint8_t code = packet.syndrome & wire::Aeth::kValue;
  if (code == wire::Aeth::kUnlimitedCredits) return;
  // An MSN has 24 bits; it is near the number of messages that are done.
  const auto done = static_cast<std::uint32_t>(posted_count_ - queue_.size());
  const auto msn_ahead = wire::Psn::distance(wire::Psn{done}, wire::Psn{packet.msn});
  credit_limit_ = done + static_cast<std::uint32_t>(msn_ahead) + credits_of(code);
  known_ready_ = false;
}

/// Selective repeat: forgets the reports of packets that are acknowledged.
void Requester::forget_reports() noexcept {
  reported_.slide(una_);
  resent_.slide(una_);
  resends_oldest_ = false;
  look_again();
}

/// Selective repeat: no packet that was sent again is on its way any more.
void Requester::forget_resent() noexcept {
  resent_.clear(una_);
  lost_again_.clear();
}

/// A response to a newer request shows that one was lost here. Handled once per position: responses
/// in flight repeat it. (IBTA vol. 1, 9.9.2.1.2: implied NAK)
void Requester::lost_answer(Instant now) {
  if (implied_at_ == una_) return;
  implied_at_ = una_;
  ++counters_.implied_naks;
  go_back(now);
}

void Requester::go_back(Instant now) {
  cursor_ = una_;
  cursor_wqe_ = 0;
  reported_to_ = lost_from_ = una_;
  reported_.clear(una_);
  forget_resent();
  resends_oldest_ = resends_newest_ = false;
  look_again();
  timed_at_ = kNever;  // a packet sent twice can't be measured
  retry_at_ = timer_.from(now);
}

void Requester::on_nak(const Packet& packet, Sequence s, Instant now) {
  const auto code = static_cast<NakCode>(packet.syndrome & wire::Aeth::kValue);
  if (code != NakCode::psn_sequence_error) {
    if (acknowledge(s, now)) return fail(status_of(code), now);
    return lost_answer(now);
  }
  ++counters_.sequence_naks;
  if (config_.recovery == LossRecovery::selective_repeat) return on_selective_nak(packet, s, now);
  if (!acknowledge(s, now)) return lost_answer(now);
  // Linux rxe sends an RNR NAK, and then a sequence NAK for the packets behind. The RNR wait
  // already goes back, and is no retry.
  if (waits_until_ != kNever) return;
  if (retries_left_ == 0) return fail(Status::retry_exceeded, now);
  --retries_left_;
  go_back(now);
  if (config_.nak_reaction > Duration{}) wait(config_.nak_reaction, now);
}

/// Sends nothing for a time.
void Requester::wait(Duration time, Instant now) {
  retry_at_ = kNever;
  waits_until_ = now + time;
  look_again();
}

/// Selective repeat: all packets before `s` have arrived, and the packet with the PSN in the MSN
/// field.
void Requester::on_selective_nak(const Packet& packet, Sequence s, Instant now) {
  if (!acknowledge(s, now)) return lost_answer(now);
  const std::int32_t ahead = wire::Psn::distance(psn_of(una_), wire::Psn{packet.msn});
  const Sequence arrived = una_ + static_cast<std::uint32_t>(std::max(ahead, 0));
  if (ahead <= 0 || arrived >= high_) {
    ++counters_.bad_answers;
    return;
  }
  reported_.slide(una_);
  reported_.set(arrived);
  reported_to_ = std::max(reported_to_, arrived + 1);
  resent_.arrived(arrived, [this](Sequence lost) { lost_again_.push(lost); });
  timed_at_ = kNever;
  look_again();
}

void Requester::on_rnr(const Packet& packet, Sequence s, Instant now) {
  if (!acknowledge(s, now)) return lost_answer(now);
  if (waits_until_ != kNever) return;  // a duplicate
  ++counters_.rnr_naks;
  if (rnr_left_ == 0) return fail(Status::rnr_retry_exceeded, now);
  if (rnr_left_ != kUnlimited) --rnr_left_;
  go_back(now);
  wait(wire::rnr_timer(packet.syndrome & wire::Aeth::kValue), now);
}

void Requester::on_data(const Packet& packet, Sequence s, Instant now) {
  if (!acknowledge(s, now)) return lost_answer(now);
  if (!take_data(packet, s)) {
    ++counters_.bad_answers;
    return;
  }
  una_ = s + 1;
  if (una_ == queue_.front().end()) complete(Status::success, now, packet.swap_add);
  progressed(now);
}

/// Stores the next expected data; false if it doesn't match the request.
bool Requester::take_data(const Packet& packet, Sequence s) noexcept {
  const Wqe& wqe = queue_.front();
  if (!wqe.fetches) return false;
  const WorkRequest& request = wqe.request;
  if (request.operation != Operation::read_request) {
    if (meaning_of(packet.opcode).operation != Operation::atomic_ack) return false;
    memory_.store(request.local_va, packet.swap_add);
    return true;
  }
  const std::uint64_t offset = (s - wqe.first) * config_.mtu;
  const std::uint64_t expected = std::min<std::uint64_t>(config_.mtu, request.length - offset);
  if (meaning_of(packet.opcode).operation != Operation::read_response ||
      packet.payload != expected) {
    return false;
  }
  memory_.store(request.local_va + offset, packet.data, packet.payload, store_);
  counters_.fetched_bytes += packet.payload;
  return true;
}

void Requester::expire(Instant now) {
  if (waits_until_ <= now) {
    waits_until_ = kNever;
    look_again();
    retry_at_ = timer_.from(now);
  }
  if (retry_at_ > now) return;
  ++counters_.timeouts;
  if (retries_left_ == 0) return fail(Status::retry_exceeded, now);
  --retries_left_;
  timer_.expired();
  const bool selective =
      config_.recovery == LossRecovery::selective_repeat && !queue_.front().fetches;
  if (!selective) return go_back(now);
  timed_at_ = kNever;
  resends_oldest_ = resends_newest_ = true;
  lost_from_ = una_;
  forget_resent();
  look_again();
  retry_at_ = timer_.from(now);
}

/// The oldest request fails and breaks the QP; the others are flushed.
void Requester::fail(Status status, Instant now) {
  broken_ = true;
  retry_at_ = waits_until_ = kNever;
  look_again();
  complete(status, now);
  while (!queue_.empty()) complete(Status::flushed, now);
}

std::uint32_t Requester::number_of(wire::Psn psn) const noexcept {
  const std::int32_t ahead = wire::Psn::distance(psn_of(una_), psn);
  for (std::size_t i = 0; ahead >= 0 && i < queue_.size(); ++i)
    if (una_ + static_cast<std::uint32_t>(ahead) < queue_[i].end()) return queue_[i].ssn;
  // UC and UD complete a request with its last packet.
  return queue_.empty() ? posted_count_ : queue_.front().ssn - 1;
}

}  // namespace lw::transport
