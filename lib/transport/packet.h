// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "roce/class_settings.h"
#include "roce/compose.h"
#include "wire/opcode.h"
#include "wire/psn.h"

namespace lw::transport {

/// Index of a payload's bytes in a PayloadStore; 0: only the payload's length is known.
using PayloadSlot = std::uint32_t;

/// A packet: header fields, the payload's length, and where its bytes are, if it has any.
/// to_frame() composes its frame. Trivially copyable.
struct Packet {
  std::uint64_t va = 0;         // RETH, AtomicETH
  std::uint64_t swap_add = 0;   // AtomicETH; the original value in an ATOMIC ACK
  std::uint64_t compare = 0;    // AtomicETH
  std::uint32_t payload = 0;    // bytes, without pad
  std::uint32_t dest_qp = 0;    // 24 bits
  std::uint32_t r_key = 0;      // RETH, AtomicETH
  std::uint32_t length = 0;     // RETH: of the whole message
  std::uint32_t msn = 0;        // AETH, 24 bits
  std::uint32_t word = 0;       // ImmDt or IETH
  std::uint32_t source_qp = 0;  // DETH; otherwise the sender, which is not on the wire
  PayloadSlot data = 0;
  wire::Psn psn;
  std::uint16_t from_host = 0, to_host = 0;  // in place of addresses
  std::uint8_t opcode = 0;
  std::uint8_t syndrome = 0;  // AETH
  bool ack_req : 1 = false;
  bool solicited_event : 1 = false;
  bool congestion_experienced : 1 = false;  // ECN CE, set on the way
  bool icrc_wrong : 1 = false;              // corrupted on the way: the receiver drops it
};
static_assert(sizeof(Packet) <= 72);

inline constexpr std::uint8_t kCnpOpcode = 0x81;

/// By opcode: bytes that a packet without payload occupies on an Ethernet link.
extern const std::array<std::uint16_t, 256> kWireOverhead;

/// Bytes that the packet occupies on an Ethernet link: headers over IPv4, payload, pad, ICRC, FCS,
/// preamble and gap; at least 84.
inline std::uint32_t wire_bytes(const Packet& packet) noexcept {
  constexpr std::uint32_t kSmallest = 64 + 20;
  return std::max(kSmallest, kWireOverhead[packet.opcode] + ((packet.payload + 3) & ~3u));
}

/// Whether the packet is a request (otherwise a response or a CNP).
constexpr bool is_request(std::uint8_t opcode) noexcept {
  const unsigned operation = opcode & 0x1f;
  return opcode != kCnpOpcode && (operation < 13 || operation > 18);
}

/// Meaning of an opcode: one look-up in a table. Eight bytes, so that a row's address is a shift.
struct alignas(8) OpcodeMeaning {
  wire::Operation operation{};
  wire::Position position{};
  bool known = false;
  bool response = false;
  bool immediate = false;
  bool invalidate = false;
  bool begins = false, ends = false;  // a message, as `position` says
};

/// One row for each value of the lower five bits, which RC, UC and UD opcodes share.
extern const std::array<OpcodeMeaning, 32> kMeanings;

inline const OpcodeMeaning& meaning_of(std::uint8_t opcode) noexcept {
  return kMeanings[opcode & 0x1f];
}

/// The opcodes of one transport by operation and position: composing a packet needs no search.
class OpcodeSet {
 public:
  explicit OpcodeSet(wire::Transport transport) noexcept;

  /// `immediate` and `invalidate` apply to a message's last packet only. The transport must have
  /// such an opcode.
  [[nodiscard]] std::uint8_t of(wire::Operation operation, wire::Position position,
                                bool immediate = false, bool invalidate = false) const noexcept {
    return opcodes_[index(operation, position, immediate, invalidate)];
  }

 private:
  static constexpr std::size_t kOperations = 12;
  static constexpr std::size_t index(wire::Operation operation, wire::Position position,
                                     bool immediate, bool invalidate) noexcept {
    const auto extra = static_cast<std::size_t>(immediate ? 1 : invalidate ? 2 : 0);
    return (static_cast<std::size_t>(operation) * 4 + static_cast<std::size_t>(position)) * 3 +
           extra;
  }
  std::array<std::uint8_t, kOperations * 4 * 3> opcodes_{};
};

/// Those of a transport. All its QPs use the same rows, which then stay in the caches.
const OpcodeSet& opcodes_of(wire::Transport transport) noexcept;

/// Position of packet `index` of `count`.
constexpr wire::Position position_of(std::uint64_t index, std::uint64_t count) noexcept {
  if (count == 1) return wire::Position::only;
  if (index == 0) return wire::Position::first;
  return index + 1 == count ? wire::Position::last : wire::Position::middle;
}

constexpr bool ends_message(wire::Position position) noexcept {
  return position == wire::Position::last || position == wire::Position::only;
}
constexpr bool begins_message(wire::Position position) noexcept {
  return position == wire::Position::first || position == wire::Position::only;
}

/// Most packets of a message: PSNs have 24 bits, and half of them may be outstanding (IBTA vol. 1,
/// 9.7.2).
inline constexpr std::uint32_t kMostPackets = 1u << 23;

/// Whether packets of this payload, in bytes, are those of a path MTU that InfiniBand has.
constexpr bool is_path_mtu(std::uint32_t bytes) noexcept {
  return std::has_single_bit(bytes) && bytes >= 256 && bytes <= 4096;
}

/// Packets of a message: max(1, ceil(length / mtu)).
constexpr std::uint32_t packets_of(std::uint64_t length, std::uint32_t mtu) noexcept {
  if (length <= mtu) return 1;
  // A path MTU is a power of two: no division.
  if (!std::has_single_bit(mtu)) return static_cast<std::uint32_t>((length + mtu - 1) / mtu);
  return static_cast<std::uint32_t>((length + mtu - 1) >> std::countr_zero(mtu));
}

/// Decodes the end-to-end credits in an AETH's five bits: 0, 1, 2, 3, 4, 6, 8, 12 ... 32768; 31
/// means unlimited. (IBTA vol. 1, table 46)
constexpr std::uint32_t credits_of(std::uint8_t code) noexcept {
  if (code < 2) return code;
  return (2u + (code & 1u)) << (code / 2 - 1);
}

/// Encodes credits, rounded down.
constexpr std::uint8_t credit_code(std::uint64_t credits) noexcept {
  std::uint8_t code = 30;
  while (credits_of(code) > credits) --code;
  return code;
}

/// Addresses of simulated hosts: host n is 02:00:00:00:hh:ll and
/// 198.18.hh.ll, where hhll is n + 1 (RFC 2544's addresses for benchmarks).
wire::MacAddress mac_of(std::uint16_t host) noexcept;
wire::Ipv4Address ip_of(std::uint16_t host) noexcept;

/// UDP source port of the packet's connection, as NICs choose it: the same for all its packets.
constexpr std::uint16_t source_port_of(const Packet& packet) noexcept {
  return static_cast<std::uint16_t>(0xc000 | ((packet.source_qp ^ packet.dest_qp << 7) & 0x3fff));
}

/// Copies the packet into the fields of a frame: BTH, extension headers, and the marks of its kind,
/// with ECN CE if it was set on the way. Addresses, the UDP source port and P_Key stay as they are.
void put_packet(const Packet& packet, roce::FrameFields& fields,
                const roce::MarksOfKinds& marks = roce::kUsualMarks) noexcept;

/// Composes the packet's frame: RoCEv2 over IPv4 between simulated hosts, with a valid ICRC.
/// `payload` has packet.payload bytes. It is empty if only the length is known; the frame then has
/// zeros.
std::vector<std::byte> to_frame(const Packet& packet, wire::Bytes payload = {});

/// Reads a packet from a frame's headers. The payload's bytes stay in the frame: `data` is 0.
/// Requires a known opcode and no defect. The caller checks the ICRC.
Packet read_packet(const roce::Frame& frame) noexcept;

}  // namespace lw::transport
