// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wire/extensions.h"

namespace lw::wire {

/// An opcode's upper three bits. (IBTA vol. 1, table 38)
enum class Transport : std::uint8_t { rc = 0, uc = 1, rd = 2, ud = 3, cnp = 4, xrc = 5 };

/// What a message does. Position, immediate and invalidate are separate.
enum class Operation : std::uint8_t {
  send,
  write,
  read_request,
  read_response,
  ack,
  atomic_ack,
  cmp_swap,
  fetch_add,
  resync,
  flush,
  atomic_write,
  cnp,
};

/// True for SEND and WRITE, whose data the requester sends; of READs and atomics it gets data back.
constexpr bool sends_data(Operation operation) noexcept {
  return operation == Operation::send || operation == Operation::write;
}
constexpr bool is_atomic(Operation operation) noexcept {
  return operation == Operation::cmp_swap || operation == Operation::fetch_add;
}

/// Position of a packet in its message.
enum class Position : std::uint8_t { first, middle, last, only };

/// Sender of a packet: requests and responses are separate PSN streams of a QP.
enum class Role : std::uint8_t { request, response, notification };

/// Payload of an opcode, in bytes without pad.
enum class PayloadRule : std::uint8_t {
  none,       // 0
  full,       // exactly the path MTU: FIRST and MIDDLE
  rest,       // 1..MTU: LAST
  any,        // 0..MTU: ONLY
  eight,      // 8: ATOMIC WRITE
  cnp_zeros,  // 16 zero bytes
};

/// A row of the opcode table: what a packet with this opcode is, and its extension headers.
struct OpcodeInfo {
  std::uint8_t opcode = 0;
  Transport transport{};
  Operation operation{};
  Position position{};
  Role role{};
  PayloadRule payload{};
  ExtensionSet extensions;
  std::string_view name;  // "RC SEND FIRST"
};

/// The row of an opcode; null for a reserved one.
const OpcodeInfo* find_opcode(std::uint8_t opcode) noexcept;

/// The opcode of a packet; nothing where the transport has no such packet (a UD WRITE).
std::optional<std::uint8_t> opcode_of(Transport transport, Operation operation, Position position,
                                      bool immediate = false, bool invalidate = false) noexcept;

/// All known opcodes, ascending.
std::span<const OpcodeInfo> all_opcodes() noexcept;

std::string_view name_of(Transport transport) noexcept;  // "RC"
std::string_view name_of(Operation operation) noexcept;  // "READ REQUEST"
std::string_view name_of(Position position) noexcept;    // "FIRST"
std::string_view name_of(Role role) noexcept;            // "request"

}  // namespace lw::wire
