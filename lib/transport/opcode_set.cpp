// SPDX-License-Identifier: BSD-3-Clause
#include "transport/opcode_set.h"

namespace lw::transport {
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
