// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/request_checks.h"

#include <fmt/format.h>

#include "wire/aeth.h"

namespace lw::analysis {

using wire::Operation;
using wire::Position;

bool is_read(std::uint8_t opcode) noexcept {
  return wire::find_opcode(opcode)->operation == Operation::read_request;
}

bool is_atomic(std::uint8_t opcode) noexcept {
  const Operation operation = wire::find_opcode(opcode)->operation;
  return operation == Operation::cmp_swap || operation == Operation::fetch_add ||
         operation == Operation::atomic_write || operation == Operation::flush;
}

bool answers(const CapturedPacket& response) noexcept {
  return response.has_aeth ? wire::AethFields{response.syndrome, 0}.kind() == wire::AethKind::ack
                           : response.info->operation != Operation::ack;
}

std::string wrong_order(const wire::OpcodeInfo& before, const CapturedPacket& packet) {
  const Position position = packet.info->position;
  const bool inside = position == Position::middle || position == Position::last;
  const bool open = before.position == Position::first || before.position == Position::middle;
  if (inside == open && (!open || packet.info->operation == before.operation)) return {};
  return fmt::format("{} behind {}", packet.info->name, before.name);
}

std::string wrong_lengths(const CapturedPacket& packet, std::optional<std::uint32_t> mtu) {
  if (!packet.complete) return "its lengths contradict each other";
  const wire::PayloadRule rule = packet.info->payload;
  if (rule == wire::PayloadRule::full && mtu && packet.payload != *mtu)
    return fmt::format("{} bytes where the path MTU is {}", packet.payload, *mtu);
  if (rule == wire::PayloadRule::rest && packet.payload == 0) return "a LAST without payload";
  if (packet.pad != ((4 - packet.payload % 4) & 3))
    return fmt::format("{} bytes of payload with {} pad bytes", packet.payload, packet.pad);
  return {};
}

namespace {

/// Whether a READ asks for a part of what `known`, a READ with more than one response, asks for.
bool reads_rest(const CapturedPacket& packet, const Sent& known) noexcept {
  if (!packet.has_reth || !known.has_reth) return true;
  return packet.r_key == known.r_key && packet.va - known.va < known.dma_length;
}

/// A READ may be repeated for the begin of its response.
bool has_same_addresses(const CapturedPacket& packet, const Sent& known) noexcept {
  if (packet.va != known.va) return false;
  if (!packet.has_reth || !known.has_reth) return true;
  return packet.r_key == known.r_key &&
         (packet.dma_length == known.dma_length ||
          (is_read(known.opcode) && packet.dma_length < known.dma_length));
}

}  // namespace

std::string wrong_repetition(const CapturedPacket& packet, const Sent& known, std::uint64_t at) {
  const bool same_immediate =
      packet.immediate == known.immediate || !packet.has_immediate || !known.has_immediate;
  const bool same = packet.info->opcode == known.opcode && packet.payload == known.payload &&
                    same_immediate &&
                    (at > 0 ? reads_rest(packet, known) : has_same_addresses(packet, known));
  if (same) return {};
  return fmt::format("{} where frame {} is {}", packet.info->name, known.frame,
                     wire::find_opcode(known.opcode)->name);
}

}  // namespace lw::analysis
