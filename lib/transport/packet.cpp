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

const std::array<std::uint16_t, 256> kLineOverhead = overheads();

}  // namespace lw::transport
