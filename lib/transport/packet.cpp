// SPDX-License-Identifier: BSD-3-Clause
#include "transport/packet.h"

namespace lw::transport {

namespace {

// Ethernet 14 and FCS 4, preamble and gap 20, IPv4 20, UDP 8, BTH 12, ICRC 4.
constexpr std::uint32_t kHeaders = 14 + 4 + 20 + 20 + 8 + 12 + 4;

std::array<std::uint16_t, 256> overheads() noexcept {
  std::array<std::uint16_t, 256> sizes{};
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    sizes[info.opcode] = static_cast<std::uint16_t>(kHeaders + info.extensions.size());
  }
  return sizes;
}

}  // namespace

const std::array<std::uint16_t, 256> kWireOverhead = overheads();

namespace {

constexpr std::uint8_t kOperationBits = 0x1f;

std::array<OpcodeMeaning, 32> meanings() noexcept {
  std::array<OpcodeMeaning, 32> all{};
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    if (info.transport != wire::Transport::rc) continue;
    all[info.opcode & kOperationBits] = {
        .operation = info.operation,
        .position = info.position,
        .known = true,
        .response = info.role == wire::Role::response,
        .immediate = info.extensions.has(wire::Extension::immdt),
        .invalidate = info.extensions.has(wire::Extension::ieth),
        .begins = begins_message(info.position),
        .ends = ends_message(info.position),
    };
  }
  return all;
}

}  // namespace

const std::array<OpcodeMeaning, 32> kMeanings = meanings();

OpcodeSet::OpcodeSet(wire::Transport transport) noexcept {
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    if (info.transport != transport) continue;
    const bool immediate = info.extensions.has(wire::Extension::immdt);
    const bool invalidate = info.extensions.has(wire::Extension::ieth);
    opcodes_[index(info.operation, info.position, immediate, invalidate)] = info.opcode;
  }
}

}  // namespace lw::transport
