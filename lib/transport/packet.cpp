// SPDX-License-Identifier: BSD-3-Clause
#include "transport/packet.h"

#include <algorithm>
#include <array>

namespace lw::transport {
namespace {

// Ethernet 14 and FCS 4, preamble and gap 20, IPv4 20, UDP 8, BTH 12, ICRC 4.
constexpr std::uint32_t kHeaders = 14 + 4 + 20 + 20 + 8 + 12 + 4;
constexpr std::uint32_t kSmallest = 64 + 20;

std::array<std::uint8_t, 256> header_sizes() noexcept {
  std::array<std::uint8_t, 256> sizes{};
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    sizes[info.opcode] = static_cast<std::uint8_t>(kHeaders + info.extensions.size());
  }
  return sizes;
}

}  // namespace

std::uint32_t line_bytes(const Packet& packet) noexcept {
  static const auto sizes = header_sizes();
  const std::uint32_t padded = (packet.payload + 3) & ~3u;
  return std::max(kSmallest, sizes[packet.opcode] + padded);
}

}  // namespace lw::transport
