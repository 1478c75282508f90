// SPDX-License-Identifier: BSD-3-Clause
#include "transport/response_queue.h"

#include <algorithm>

#include "wire/aeth.h"

namespace lw::transport {

using wire::Operation;
using wire::Position;

namespace {

bool is_ack(std::uint8_t syndrome) noexcept { return syndrome >> wire::Aeth::kKindShift == 0; }

}  // namespace

void ResponseQueue::acknowledge(wire::Psn psn, std::uint8_t syndrome, std::uint32_t msn) {
  const bool merge = config_.coalesce_acks && !items_.empty() && is_ack(syndrome) &&
                     items_.back().kind == Kind::acknowledge && is_ack(items_.back().syndrome);
  Item& item = merge ? items_.back() : items_.add();
  item.kind = Kind::acknowledge;
  item.syndrome = syndrome;
  item.psn = psn;
  item.msn = msn;
  item.sent = 0;
}

void ResponseQueue::read(wire::Psn psn, std::uint64_t va, std::uint32_t length, std::uint32_t msn) {
  items_.push({.kind = Kind::read,
               .syndrome = wire::Aeth::kUnlimitedCredits,
               .psn = psn,
               .msn = msn,
               .va = va,
               .length = length});
}

void ResponseQueue::atomic(wire::Psn psn, std::uint64_t original, std::uint32_t msn) {
  items_.push({.kind = Kind::atomic,
               .syndrome = wire::Aeth::kUnlimitedCredits,
               .psn = psn,
               .msn = msn,
               .original = original});
}

void ResponseQueue::next(Packet& packet) {
  Item& item = items_.front();
  packet.psn = item.psn + item.sent;
  packet.dest_qp = config_.dest_qpn;
  packet.source_qp = config_.qpn;
  packet.from_host = config_.host;
  packet.to_host = config_.dest_host;
  packet.syndrome = item.syndrome;
  packet.msn = item.msn;
  if (item.kind == Kind::read) {
    fill_read(packet, item);
  } else if (item.kind == Kind::atomic) {
    packet.opcode = opcodes_.of(Operation::atomic_ack, Position::only);
    packet.swap_add = item.original;
  } else {
    packet.opcode = opcodes_.of(Operation::ack, Position::only);
  }
  if (finished(item, config_.mtu)) items_.pop();
}

void ResponseQueue::fill_read(Packet& packet, Item& item) {
  const Position position = position_of(item.sent, packets_of(item.length, config_.mtu));
  const std::uint64_t offset = std::uint64_t{item.sent} * config_.mtu;
  packet.opcode = opcodes_.of(Operation::read_response, position);
  packet.payload =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.mtu, item.length - offset));
  packet.data = memory_.snapshot(item.va + offset, packet.payload, store_);
  ++item.sent;
}

}  // namespace lw::transport
