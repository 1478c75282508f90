// SPDX-License-Identifier: BSD-3-Clause
// The parts of Requester that most packets pass through: posting, sending, and plain ACKs. In a
// header because a simulation spends most of its time in them.
#pragma once

#include <algorithm>
#include <cassert>

#include "transport/requester.h"
#include "wire/aeth.h"

namespace lw::transport {

inline bool Requester::post(const WorkRequest& request, Instant now) {
  constexpr std::uint32_t kOperand = 8;
  const bool atomic = request.operation == wire::Operation::cmp_swap ||
                      request.operation == wire::Operation::fetch_add;
  if (queue_.size() >= config_.tx_depth ||
      !memory_.holds(request.local_va, atomic ? kOperand : request.length))
    return false;
  const std::uint32_t psns = atomic ? 1 : packets_of(request.length, config_.mtu);
  Wqe& wqe = queue_.add();
  wqe.request = request;
  wqe.first = assigned_;
  wqe.psns = psns;
  wqe.ssn = ++posted_count_;
  wqe.posted = now;
  wqe.fetches =
      request.operation != wire::Operation::send && request.operation != wire::Operation::write;
  assigned_ += psns;
  if (broken_) complete(Status::flushed, now);
  return true;
}

inline void Requester::next(Instant now, Packet& packet) {
  assert(ready());
  known_ready_ = false;
  if (!usual_ && lost_ != kNone) [[unlikely]]
    return next_lost(now, packet);
  const Wqe& wqe = queue_[cursor_wqe_];
  if (cursor_wqe_ == begun_) begin(wqe);
  make(packet, wqe, cursor_);
  const Sequence end = wqe.fetches ? wqe.end() : cursor_ + 1;
  if (reliable() && end - una_ >= window_) packet.ack_req = true;
  const bool last = end == wqe.end();
  sent(cursor_, end, now);
  if (last) ++cursor_wqe_;
  if (last && !reliable()) {
    una_ = end;
    complete(Status::success, now);
  }
}

inline void Requester::begin(const Wqe& wqe) noexcept {
  ++begun_;
  if (wqe.fetches) ++fetching_;
}

inline void Requester::sent(Sequence at, Sequence end, Instant now) {
  ++counters_.packets;
  if (at < high_) {
    ++counters_.retransmitted;
  } else if (timed_at_ == kNever) {
    timed_ = end - 1;
    timed_at_ = now;
  }
  cursor_ = end;
  high_ = std::max(high_, end);
  if (retry_at_ == kNever && reliable()) retry_at_ = timer_.from(now);
}

inline void Requester::make(Packet& packet, const Wqe& wqe, Sequence at) {
  const std::uint64_t index = at - wqe.first;
  set_headers(packet, config_);
  packet.psn = psn_of(at);
  if (wqe.fetches) {
    fill_fetch(packet, wqe, index);
  } else {
    fill_transfer(packet, wqe, index);
  }
}

/// Long messages request ACKs in between, so that the timer sees progress.
inline bool Requester::asks_in_between(std::uint64_t index) const noexcept {
  return config_.ack_every != 0 && index + 1 >= config_.ack_every &&
         (index + 1) % config_.ack_every == 0;
}

inline void Requester::fill_transfer(Packet& packet, const Wqe& wqe, std::uint64_t index) {
  const WorkRequest& request = wqe.request;
  const wire::Position position = position_of(index, wqe.psns);
  const bool ends = ends_message(position);
  const std::uint64_t offset = index * config_.mtu;
  packet.opcode = opcodes_.of(request.operation, position, ends && request.immediate,
                              ends && request.invalidate);
  packet.payload =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.mtu, request.length - offset));
  packet.data = memory_.snapshot(request.local_va + offset, packet.payload, store_);
  counters_.payload_bytes += packet.payload;
  if (request.operation == wire::Operation::write && begins_message(position)) {
    packet.va = request.remote_va;
    packet.r_key = request.r_key;
    packet.length = request.length;
  }
  if (ends) packet.word = request.word;
  packet.solicited_event = ends && request.solicited_event;
  packet.ack_req = reliable() && (ends || asks_in_between(index));
  if (config_.transport == wire::Transport::ud) {
    packet.dest_qp = request.dest_qp;
    packet.to_host = request.dest_host;
  }
}

inline wire::AethKind kind_of(std::uint8_t syndrome) noexcept {
  return static_cast<wire::AethKind>(syndrome >> wire::Aeth::kKindShift & 3);
}

inline void Requester::receive(const Packet& packet, Instant now) {
  if (broken_ || !reliable()) return;
  const std::int32_t ahead = wire::Psn::distance(psn_of(una_), packet.psn);
  if (ahead < 0) {
    ++counters_.ghosts;
    return;
  }
  const Sequence s = una_ + static_cast<std::uint32_t>(ahead);
  if (s >= high_) {
    ++counters_.bad_answers;
    return;
  }
  const bool ack = meaning_of(packet.opcode).operation == wire::Operation::ack &&
                   kind_of(packet.syndrome) == wire::AethKind::ack;
  ack ? on_ack(packet, s, now) : on_other(packet, s, now);
}

inline void Requester::on_ack(const Packet& packet, Sequence s, Instant now) {
  if (config_.end_to_end_credits) take_credits(packet);
  if (!acknowledge(s + 1, now)) lost_answer(now);
}

/// Acknowledges up to `up_to`, but not past a READ or an atomic, which only data completes. Returns
/// whether it reached `up_to`.
inline bool Requester::acknowledge(Sequence up_to, Instant now) {
  const Sequence before = una_;
  Sequence una = before;
  while (una < up_to && !queue_.front().fetches) {
    const Sequence end = queue_.front().end();
    una = std::min(up_to, end);
    if (una == end) complete(Status::success, now);
  }
  una_ = una;
  if (una != before) progressed(now);
  return una >= up_to;
}

inline void Requester::progressed(Instant now) {
  retries_left_ = config_.retry_count;
  rnr_left_ = config_.rnr_retry;
  if (timed_at_ != kNever && una_ > timed_) {
    timer_.measured(now - timed_at_);
    timed_at_ = kNever;
  }
  timer_.progressed();
  retry_at_ = una_ < high_ && waits_until_ == kNever ? timer_.from(now) : kNever;
  if (!usual_) forget_reports();
  if (cursor_ < una_) {  // the packets to send again have arrived
    cursor_ = una_;
    cursor_wqe_ = 0;
    known_ready_ = false;
  }
}

/// Completes the oldest request.
inline void Requester::complete(Status status, Instant now, std::uint64_t original) {
  const Wqe& wqe = queue_.front();
  Completion& done = completions_.add();  // field by field: a copy would wait for their stores
  done.id = wqe.request.id;
  done.at = now;
  done.posted = wqe.posted;
  done.length = wqe.request.length;
  done.original = original;
  done.operation = wqe.request.operation;
  done.status = status;
  if (begun_ > 0) {
    --begun_;
    if (wqe.fetches) --fetching_;
  }
  if (cursor_wqe_ > 0) --cursor_wqe_;
  queue_.pop();
}

}  // namespace lw::transport
