// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lw::wire {

/// An opcode's upper three bits. (IBTA vol. 1, table 38)
enum class Transport : std::uint8_t { rc = 0, uc = 1, rd = 2, ud = 3, cnp = 4, xrc = 5 };

/// What a message does; FIRST..ONLY, immediates and invalidates are told apart below.
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

/// Where a packet stands in its message.
enum class Position : std::uint8_t { first, middle, last, only };

/// Who sends it: requests and responses are separate PSN streams of a QP.
enum class Role : std::uint8_t { request, response, notification };

/// How much payload an opcode carries, pad not counted.
enum class PayloadRule : std::uint8_t {
  none,       // 0
  full,       // exactly the path MTU: FIRST and MIDDLE
  rest,       // 1..MTU: LAST
  any,        // 0..MTU: ONLY
  eight,      // 8: ATOMIC WRITE
  cnp_zeros,  // 16 zero bytes
};

/// Extension headers, as a set; bit order is their order on the wire.
enum class Extension : std::uint16_t {
  rdeth = 1 << 0,
  deth = 1 << 1,
  xrceth = 1 << 2,
  feth = 1 << 3,
  reth = 1 << 4,
  atomiceth = 1 << 5,
  aeth = 1 << 6,
  atomicacketh = 1 << 7,
  immdt = 1 << 8,
  ieth = 1 << 9,
};

inline constexpr int kExtensions = 10;

/// Size in bytes of the extension with bit number `bit`, 0..9.
constexpr std::size_t extension_size(int bit) noexcept {
  constexpr std::uint8_t kSizes[kExtensions] = {4, 8, 4, 4, 16, 28, 4, 8, 4, 4};
  return kSizes[bit];
}

/// "RDETH", "RETH", ... for bit number `bit`, 0..9.
std::string_view extension_name(int bit) noexcept;

class ExtensionSet {
 public:
  constexpr ExtensionSet() = default;
  constexpr ExtensionSet(std::initializer_list<Extension> extensions) noexcept {
    for (const Extension e : extensions) bits_ = static_cast<std::uint16_t>(bits_ | bit(e));
  }
  [[nodiscard]] constexpr bool has(Extension e) const noexcept { return bits_ & bit(e); }
  [[nodiscard]] constexpr bool has_bit(int number) const noexcept { return bits_ >> number & 1; }
  [[nodiscard]] constexpr ExtensionSet with(Extension e) const noexcept {
    ExtensionSet result = *this;
    result.bits_ = static_cast<std::uint16_t>(bits_ | bit(e));
    return result;
  }
  /// Bytes of all of them together.
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    std::size_t total = 0;
    for (int i = 0; i < kExtensions; ++i) total += has_bit(i) ? extension_size(i) : 0;
    return total;
  }
  friend constexpr bool operator==(ExtensionSet, ExtensionSet) = default;

 private:
  static constexpr std::uint16_t bit(Extension e) noexcept { return static_cast<std::uint16_t>(e); }
  std::uint16_t bits_ = 0;
};

/// One row of the table that says all there is to say of an opcode.
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

/// The row of an opcode; null for one that the specification reserves.
const OpcodeInfo* find_opcode(std::uint8_t opcode) noexcept;

/// The opcode of a packet; nothing where the transport has no such packet (a UD WRITE, say).
std::optional<std::uint8_t> opcode_of(Transport transport, Operation operation, Position position,
                                      bool immediate = false, bool invalidate = false) noexcept;

/// All known opcodes in rising order.
std::span<const OpcodeInfo> all_opcodes() noexcept;

std::string_view name_of(Transport transport) noexcept;  // "RC"
std::string_view name_of(Operation operation) noexcept;  // "READ REQUEST"
std::string_view name_of(Position position) noexcept;    // "FIRST"
std::string_view name_of(Role role) noexcept;            // "request"

}  // namespace lw::wire
