// SPDX-License-Identifier: BSD-3-Clause
#include "roce/message.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace lw::roce {
namespace {

using wire::Operation;
using wire::Position;
using wire::Transport;

constexpr std::uint64_t kMostMessageBytes = std::uint64_t{1} << 31;  // IBTA vol. 1, 9.7.6
constexpr std::uint64_t kAtomicWriteSize = 8;
constexpr std::uint64_t kCnpZeros = 16;

/// Whether the message's own packets carry its `length` bytes.
bool carries_payload(Operation operation) noexcept {
  return operation == Operation::send || operation == Operation::write ||
         operation == Operation::read_response;
}

std::uint32_t packets_of_length(std::uint64_t length, std::uint32_t mtu) noexcept {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (length + mtu - 1) / mtu));
}

Position position_of(std::uint32_t index, std::uint32_t count) noexcept {
  if (count == 1) return Position::only;
  if (index == 0) return Position::first;
  return index + 1 == count ? Position::last : Position::middle;
}

/// Only the message's last packet carries an immediate or an R_Key to invalidate.
std::uint8_t opcode_at(const MessageFields& message, Position position) noexcept {
  const bool last = position == Position::last || position == Position::only;
  return *wire::opcode_of(message.transport, message.operation, position, message.immediate && last,
                          message.invalidate && last);
}

/// Only requests of an acknowledged service ask for an ACK.
bool asks_for_acks(const MessageFields& message, std::uint8_t opcode) noexcept {
  const bool reliable = message.transport == Transport::rc || message.transport == Transport::rd ||
                        message.transport == Transport::xrc;
  return reliable && wire::find_opcode(opcode)->role == wire::Role::request;
}

std::uint32_t payload_at(const MessageFields& message, std::uint64_t offset) noexcept {
  if (message.operation == Operation::atomic_write) return kAtomicWriteSize;
  if (message.operation == Operation::cnp) return kCnpZeros;
  if (!carries_payload(message.operation)) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(message.mtu, message.length - offset));
}

bool starts(Position position) noexcept {
  return position == Position::first || position == Position::only;
}
bool ends(Position position) noexcept {
  return position == Position::last || position == Position::only;
}

/// Distance in PSNs from this packet to the stream's next one. A READ REQUEST's response takes its
/// PSNs from the same space.
std::uint32_t psns_taken(const Frame& frame, std::uint32_t mtu) noexcept {
  if (frame.info->operation != Operation::read_request) return 1;
  MessageFields read;
  read.operation = Operation::read_request;
  read.mtu = mtu;
  read.length = frame.reth->dma_length.get();
  return psn_count(read);
}

}  // namespace

std::string refusal_of(const MessageFields& message) {
  const auto name = wire::name_of(message.operation);
  const auto transport = wire::name_of(message.transport);
  if (message.mtu < 256 || message.mtu > 4096 || !std::has_single_bit(message.mtu)) {
    return fmt::format("the MTU must be 256, 512, 1024, 2048 or 4096, got {}", message.mtu);
  }
  if (!wire::opcode_of(message.transport, message.operation, Position::only, message.immediate,
                       message.invalidate)) {
    return fmt::format("{} has no {}{}{}", transport, name,
                       message.immediate ? " with immediate" : "",
                       message.invalidate ? " with invalidate" : "");
  }
  if (message.length > kMostMessageBytes) {
    return fmt::format("a message has at most 2^31 bytes, got {}", message.length);
  }
  if (message.transport == Transport::ud && message.length > message.mtu) {
    return fmt::format("a UD message must fit the MTU of {} bytes, got {}", message.mtu,
                       message.length);
  }
  return {};
}

std::uint32_t packet_count(const MessageFields& message) noexcept {
  return carries_payload(message.operation) ? packets_of_length(message.length, message.mtu) : 1;
}

std::uint32_t psn_count(const MessageFields& message) noexcept {
  return message.operation == Operation::read_request
             ? packets_of_length(message.length, message.mtu)
             : packet_count(message);
}

MessagePacket packet_of(const MessageFields& message, std::uint32_t index) noexcept {
  const std::uint32_t count = packet_count(message);
  const bool ends = index + 1 == count;
  MessagePacket packet;
  packet.opcode = opcode_at(message, position_of(index, count));
  packet.psn = message.first_psn + index;
  packet.offset = std::uint64_t{index} * message.mtu;
  packet.payload = payload_at(message, packet.offset);
  packet.pad = pad_of(packet.payload);
  const bool every = message.ack_every != 0 && (index + 1) % message.ack_every == 0;
  packet.ack_req = asks_for_acks(message, packet.opcode) && (ends || every);
  packet.solicited_event = message.solicited_event && ends;
  return packet;
}

std::string_view name_of(Violation violation) noexcept {
  switch (violation) {
    case Violation::none:
      return "none";
    case Violation::unknown_opcode:
      return "unknown opcode";
    case Violation::psn_gap:
      return "PSN gap";
    case Violation::psn_repeated:
      return "PSN repeated";
    case Violation::first_within:
      return "FIRST or ONLY within a message";
    case Violation::continues_nothing:
      return "MIDDLE or LAST without a FIRST";
    case Violation::changes_operation:
      return "operation changes within a message";
    case Violation::wrong_length:
      return "payload length not allowed at this position";
    case Violation::dma_length_differs:
      return "message length differs from RETH";
  }
  return {};
}

Violation Reassembler::check_order(const Frame& frame) const noexcept {
  if (expected_) {
    const std::int32_t ahead = wire::Psn::distance(*expected_, frame.bth->psn());
    if (ahead != 0) return ahead > 0 ? Violation::psn_gap : Violation::psn_repeated;
  }
  const bool begins = starts(frame.info->position);
  if (begins && open_) return Violation::first_within;
  if (!begins && !open_) return Violation::continues_nothing;
  if (!begins && open_->message.operation != frame.info->operation) {
    return Violation::changes_operation;
  }
  return Violation::none;
}

Violation Reassembler::check_lengths(const Frame& frame) const noexcept {
  const std::size_t length = frame.payload_length;
  const bool full = length == mtu_ && frame.bth->pad_count() == 0;
  bool right = true;
  switch (frame.info->position) {
    case Position::first:
      right = frame.bth->pad_count() == 0 && length > 0;
      break;
    case Position::middle:
      right = full;
      break;
    case Position::last:
      right = length >= 1 && length <= mtu_;
      break;
    case Position::only:
      break;
  }
  return right ? Violation::none : Violation::wrong_length;
}

void Reassembler::begin(const Frame& frame) noexcept {
  if (frame.info->position == Position::first) {
    mtu_ = static_cast<std::uint32_t>(frame.payload_length);
  }
  open_.emplace();
  open_->message.transport = frame.info->transport;
  open_->message.operation = frame.info->operation;
  open_->message.mtu = mtu_;
  open_->message.first_psn = frame.bth->psn();
  if (frame.reth) open_->reth = frame.reth->fields();
}

Violation Reassembler::finish(const Frame& frame, Outcome& outcome) noexcept {
  MessageFields& message = open_->message;
  message.solicited_event = frame.bth->solicited_event();
  message.immediate = frame.immdt != nullptr;
  message.invalidate = frame.ieth != nullptr;
  if (frame.immdt) open_->immediate = frame.immdt->immediate.get();
  if (frame.ieth) open_->invalidated_r_key = frame.ieth->r_key.get();

  const bool asks =
      message.operation == Operation::read_request || message.operation == Operation::flush;
  if (asks) message.length = open_->reth->dma_length;
  const bool differs = message.operation == Operation::write && open_->reth &&
                       open_->reth->dma_length != message.length;
  if (!differs) outcome.completed = *open_;
  open_.reset();
  return differs ? Violation::dma_length_differs : Violation::none;
}

Reassembler::Outcome Reassembler::add(const Frame& frame) noexcept {
  Outcome outcome;
  if (!frame.info) {
    outcome.violation = Violation::unknown_opcode;
    return outcome;
  }
  outcome.violation = check_order(frame);
  if (outcome.violation == Violation::psn_repeated) return outcome;
  if (outcome.violation == Violation::none) outcome.violation = check_lengths(frame);
  expected_ = frame.bth->psn() + psns_taken(frame, mtu_);

  if (outcome.violation != Violation::none) open_.reset();
  if (starts(frame.info->position)) begin(frame);
  if (!open_) return outcome;
  outcome.offset = open_->message.length;
  open_->message.length += frame.payload_length;
  if (ends(frame.info->position)) {
    const Violation at_end = finish(frame, outcome);
    if (outcome.violation == Violation::none) outcome.violation = at_end;
  }
  return outcome;
}

}  // namespace lw::roce
