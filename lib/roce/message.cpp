// SPDX-License-Identifier: BSD-3-Clause
#include "roce/message.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/limits.h"

namespace lw::roce {
namespace {

using wire::Operation;
using wire::Position;
using wire::Transport;

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
  if (message.length > kMostMessage) {
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

}  // namespace lw::roce
