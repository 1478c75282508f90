// SPDX-License-Identifier: BSD-3-Clause
#include "transport/message_sink.h"

#include <limits>

namespace lw::transport {

using wire::Operation;
using wire::Position;

namespace {

/// A UD receive begins with room for the sender's GRH. (IBTA vol. 1, 11.4.1.2)
constexpr std::uint32_t kGrhRoom = 40;

}  // namespace

bool MessageSink::in_place(const OpcodeMeaning& meaning) const noexcept {
  if (begins_message(meaning.position)) return !open_;
  return open_ && meaning.operation == operation_;
}

Refusal MessageSink::check_length(const Packet& packet, Position position) const noexcept {
  const bool full = position == Position::first || position == Position::middle;
  const bool fits = full ? packet.payload == config_.mtu : packet.payload <= config_.mtu;
  const bool empty_last = position == Position::last && packet.payload == 0;
  return fits && !empty_last ? Refusal::none : Refusal::invalid_request;
}

/// The first packet of a message says where it goes.
Refusal MessageSink::begin(const Packet& packet, const OpcodeMeaning& meaning) {
  operation_ = meaning.operation;
  got_ = 0;
  if (meaning.operation == Operation::write) {
    if (!memory_.allows(packet.r_key, packet.va, packet.length)) return Refusal::access_error;
    va_ = packet.va;
    room_ = packet.length;
    return Refusal::none;
  }
  if (lacks_receive()) return Refusal::no_receive;
  const bool somewhere = !config_.endless_receives;
  va_ = somewhere ? receives_.front().va : 0;
  room_ = somewhere ? receives_.front().length : std::numeric_limits<std::uint64_t>::max();
  if (config_.transport == wire::Transport::ud && somewhere) {
    if (room_ < kGrhRoom) return Refusal::invalid_request;
    va_ += kGrhRoom;
    room_ -= kGrhRoom;
  }
  return Refusal::none;
}

[[gnu::flatten]] Refusal MessageSink::take(const Packet& packet, const OpcodeMeaning& meaning,
                                           Instant now) {
  if (const auto refusal = check_length(packet, meaning.position); refusal != Refusal::none) {
    return refusal;
  }
  if (begins_message(meaning.position)) {
    if (const auto refusal = begin(packet, meaning); refusal != Refusal::none) return refusal;
  }
  const bool ends = ends_message(meaning.position);
  const bool write = meaning.operation == Operation::write;
  if (got_ + packet.payload > room_) return Refusal::invalid_request;
  if (ends && write && got_ + packet.payload != room_) return Refusal::invalid_request;
  if (ends && write && meaning.immediate && lacks_receive()) return Refusal::no_receive;
  if (write || !config_.endless_receives) {
    memory_.store(va_ + got_, packet.data, packet.payload, store_);
  }
  got_ += packet.payload;
  payload_bytes_ += packet.payload;
  open_ = !ends;
  if (ends) finish(packet, meaning, now);
  return Refusal::none;
}

void MessageSink::finish(const Packet& packet, const OpcodeMeaning& meaning, Instant now) {
  ++messages_;
  const bool takes_receive = meaning.operation == Operation::send || meaning.immediate;
  if (!takes_receive && !config_.report_writes) return;
  Completion arrival{.at = now,
                     .length = static_cast<std::uint32_t>(got_),
                     .word = packet.word,
                     .operation = meaning.operation,
                     .arrival = true,
                     .immediate = meaning.immediate};
  if (takes_receive && !config_.endless_receives) {
    arrival.id = receives_.front().id;
    receives_.pop();
  }
  arrivals_.push(arrival);
}

void MessageSink::abandon() { open_ = false; }

}  // namespace lw::transport
