// SPDX-License-Identifier: BSD-3-Clause
#include "transport/response_queue.h"

#include <algorithm>

namespace lw::transport {

using wire::Operation;
using wire::Position;

void ResponseQueue::read(wire::Psn psn, std::uint64_t va, std::uint32_t length, std::uint32_t msn) {
  items_.push({.kind = Kind::read,
               .syndrome = wire::Aeth::kUnlimitedCredits,
               .psn = psn,
               .msn = msn,
               .value = va,
               .length = length});
}

void ResponseQueue::atomic(wire::Psn psn, std::uint64_t original, std::uint32_t msn) {
  items_.push({.kind = Kind::atomic,
               .syndrome = wire::Aeth::kUnlimitedCredits,
               .psn = psn,
               .msn = msn,
               .value = original});
}

/// What an ACK hasn't.
void ResponseQueue::fill_data(Packet& packet, Item& item) {
  if (item.kind == Kind::read) {
    fill_read(packet, item);
    if (item.sent == packets_of(item.length, config_.mtu)) items_.pop();
  } else {
    packet.opcode = opcodes_.of(Operation::atomic_ack, Position::only);
    packet.swap_add = item.value;
    items_.pop();
  }
}

void ResponseQueue::fill_read(Packet& packet, Item& item) {
  const Position position = position_of(item.sent, packets_of(item.length, config_.mtu));
  const std::uint64_t offset = std::uint64_t{item.sent} * config_.mtu;
  packet.opcode = opcodes_.of(Operation::read_response, position);
  packet.payload =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.mtu, item.length - offset));
  packet.data = memory_.snapshot(item.value + offset, packet.payload, store_);
  ++item.sent;
}

}  // namespace lw::transport
