// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "wire/opcode.h"
#include "wire/psn.h"

namespace lw::transport {

/// Refers to a payload's bytes in a PayloadStore; 0 stands for a payload of which only the length
/// is known.
using PayloadSlot = std::uint32_t;

/// A packet as the transport engine sees it: what its headers say, its payload's length, and where
/// its bytes are if they exist at all. `to_frame` makes the frame of it. Trivially copyable.
struct Packet {
  std::uint64_t va = 0;         // RETH, AtomicETH
  std::uint64_t swap_add = 0;   // AtomicETH; the original value in an ATOMIC ACK
  std::uint64_t compare = 0;    // AtomicETH
  std::uint32_t payload = 0;    // bytes, pad not counted
  std::uint32_t dest_qp = 0;    // 24 bits
  std::uint32_t r_key = 0;      // RETH, AtomicETH
  std::uint32_t length = 0;     // RETH: of the whole message
  std::uint32_t msn = 0;        // AETH, 24 bits
  std::uint32_t word = 0;       // ImmDt or IETH
  std::uint32_t source_qp = 0;  // DETH; elsewhere who sent it, which the wire doesn't say
  PayloadSlot data = 0;
  wire::Psn psn;
  std::uint16_t from_host = 0, to_host = 0;  // stand for the addresses
  std::uint8_t opcode = 0;
  std::uint8_t syndrome = 0;  // AETH
  bool ack_req : 1 = false;
  bool solicited_event : 1 = false;
  bool congestion_experienced : 1 = false;  // ECN CE, set on the way
  bool icrc_wrong : 1 = false;              // damaged on the way: the receiver drops it
};
static_assert(sizeof(Packet) <= 72);

inline constexpr std::uint8_t kCnpOpcode = 0x81;

/// Of each opcode: what an empty packet takes of an Ethernet line, in bytes.
extern const std::array<std::uint16_t, 256> kLineOverhead;

/// What the packet takes of an Ethernet line, in bytes: headers over IPv4, pad, ICRC, FCS,
/// preamble and gap; 84 at least.
inline std::uint32_t line_bytes(const Packet& packet) noexcept {
  constexpr std::uint32_t kSmallest = 64 + 20;
  return std::max(kSmallest, kLineOverhead[packet.opcode] + ((packet.payload + 3) & ~3u));
}

/// Whether the packet is a request (else a response or a CNP).
constexpr bool is_request(std::uint8_t opcode) noexcept {
  const unsigned operation = opcode & 0x1f;
  return opcode != kCnpOpcode && (operation < 13 || operation > 18);
}

}  // namespace lw::transport
