// SPDX-License-Identifier: BSD-3-Clause
// The sending side of a requester: what may go out, and as which packet.
#include "transport/requester.h"

#include <algorithm>
#include <cassert>

namespace lw::transport {

using wire::Operation;
using wire::Position;
using wire::Transport;

Requester::Requester(const QpConfig& config, Memory& memory, PayloadStore& store)
    : config_(config),
      opcodes_(config.transport),
      memory_(memory),
      store_(store),
      timer_(config),
      retries_left_(config.retry_count),
      rnr_left_(config.rnr_retry) {}

bool Requester::post(const WorkRequest& request, Instant now) {
  if (queue_.size() >= config_.tx_depth) return false;
  const bool atomic =
      request.operation == Operation::cmp_swap || request.operation == Operation::fetch_add;
  const std::uint32_t psns = atomic ? 1 : packets_of(request.length, config_.mtu);
  Wqe& wqe = queue_.add();
  wqe.request = request;
  wqe.first = assigned_;
  wqe.psns = psns;
  wqe.ssn = ++posted_count_;
  wqe.posted = now;
  assigned_ += psns;
  if (broken_) complete(Status::flushed, now);
  return true;
}

[[gnu::flatten]] void Requester::next(Instant now, Packet& packet) {
  assert(ready());
  if (!resend_.empty()) return resend(packet);
  const Wqe& wqe = queue_[cursor_wqe_];
  if (cursor_wqe_ == begun_) begin(wqe);
  make(packet, wqe, cursor_);
  const Sequence end = wqe.fetches() ? wqe.end() : cursor_ + 1;
  packet.ack_req = packet.ack_req || (reliable() && end - una_ >= config_.psn_window);
  const bool last = end == wqe.end();
  sent(cursor_, end, now);
  if (last) ++cursor_wqe_;
  if (last && !reliable()) {
    una_ = end;
    complete(Status::success, now);
  }
}

void Requester::begin(const Wqe& wqe) noexcept {
  ++begun_;
  if (wqe.fetches()) ++fetching_;
}

void Requester::sent(Sequence at, Sequence end, Instant now) {
  ++counters_.packets;
  if (at < high_) ++counters_.retransmitted;
  if (at >= high_ && timed_at_ == kNever) {
    timed_ = end - 1;
    timed_at_ = now;
  }
  cursor_ = end;
  high_ = std::max(high_, end);
  if (reliable() && retry_at_ == kNever) retry_at_ = timer_.from(now);
}

/// Selective repeat: one packet again, wherever the cursor stands.
void Requester::resend(Packet& packet) {
  const Sequence at = resend_.front();
  resend_.pop();
  ++counters_.packets;
  ++counters_.retransmitted;
  make(packet, wqe_at(at), at);
  packet.ack_req = true;
}

Requester::Wqe& Requester::wqe_at(Sequence s) noexcept {
  std::size_t low = 0, high = queue_.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high + 1) / 2;
    queue_[middle].first <= s ? low = middle : high = middle - 1;
  }
  return queue_[low];
}

void Requester::make(Packet& packet, const Wqe& wqe, Sequence at) {
  const std::uint64_t index = at - wqe.first;
  packet.psn = psn_of(at);
  packet.dest_qp = config_.dest_qpn;
  packet.source_qp = config_.qpn;
  packet.from_host = config_.host;
  packet.to_host = config_.dest_host;
  if (wqe.fetches()) {
    fill_fetch(packet, wqe, index);
  } else {
    fill_transfer(packet, wqe, index);
  }
}

/// Long messages ask for ACKs on the way, so that the timer sees progress.
bool Requester::asks_in_between(std::uint64_t index) const noexcept {
  return config_.ack_every != 0 && index + 1 >= config_.ack_every &&
         (index + 1) % config_.ack_every == 0;
}

void Requester::fill_transfer(Packet& packet, const Wqe& wqe, std::uint64_t index) {
  const WorkRequest& request = wqe.request;
  const Position position = position_of(index, wqe.psns);
  const bool ends = ends_message(position);
  const std::uint64_t offset = index * config_.mtu;
  packet.opcode = opcodes_.of(request.operation, position, ends && request.immediate,
                              ends && request.invalidate);
  packet.payload =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.mtu, request.length - offset));
  packet.data = memory_.snapshot(request.local_va + offset, packet.payload, store_);
  counters_.payload_bytes += packet.payload;
  if (request.operation == Operation::write && begins_message(position)) {
    packet.va = request.remote_va;
    packet.r_key = request.r_key;
    packet.length = request.length;
  }
  if (ends) packet.word = request.word;
  packet.solicited_event = ends && request.solicited_event;
  packet.ack_req = reliable() && (ends || asks_in_between(index));
  if (config_.transport == Transport::ud) {
    packet.dest_qp = request.dest_qp;
    packet.to_host = request.dest_host;
  }
}

/// A READ asks for what is missing from `index` on.
void Requester::fill_fetch(Packet& packet, const Wqe& wqe, std::uint64_t index) const noexcept {
  const WorkRequest& request = wqe.request;
  const std::uint64_t offset = index * config_.mtu;
  packet.opcode = opcodes_.of(request.operation, Position::only);
  packet.va = request.remote_va + offset;
  packet.r_key = request.r_key;
  packet.length = static_cast<std::uint32_t>(request.length - offset);
  packet.swap_add = request.swap_add;
  packet.compare = request.compare;
  packet.ack_req = true;
}

}  // namespace lw::transport
