// SPDX-License-Identifier: BSD-3-Clause
// The sending side of a requester: what is posted, and the next packet. In a header, because a
// simulation is little else than this and its counterparts.
#pragma once

#include <algorithm>
#include <cassert>

#include "transport/requester_ack.h"

namespace lw::transport {

inline bool Requester::post(const WorkRequest& request, Instant now) {
  if (queue_.size() >= config_.tx_depth) return false;
  const bool atomic = request.operation == wire::Operation::cmp_swap ||
                      request.operation == wire::Operation::fetch_add;
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
  if (!usual_) [[unlikely]]
    return next_unusual(packet);
  const Wqe& wqe = queue_[cursor_wqe_];
  if (cursor_wqe_ == begun_) begin(wqe);
  make(packet, wqe, cursor_);
  const Sequence end = wqe.fetches ? wqe.end() : cursor_ + 1;
  if (reliable() && end - una_ >= config_.psn_window) packet.ack_req = true;
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
  packet = headers_;
  packet.psn = psn_of(at);
  if (wqe.fetches) {
    fill_fetch(packet, wqe, index);
  } else {
    fill_transfer(packet, wqe, index);
  }
}

/// Long messages ask for ACKs on the way, so that the timer sees progress.
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

}  // namespace lw::transport
