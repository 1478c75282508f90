// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "wire/opcode.h"

namespace lw::transport {

/// What a packet's opcode means to a responder: found by one look-up. Eight bytes, so that a row's
/// address is a shift.
struct alignas(8) OpcodeMeaning {
  wire::Operation operation{};
  wire::Position position{};
  bool known = false;
  bool response = false;
  bool immediate = false;
  bool invalidate = false;
  bool begins = false, ends = false;  // a message, as `position` says
};

/// A row for each value of the lower five bits, which RC, UC and UD opcodes share.
extern const std::array<OpcodeMeaning, 32> kMeanings;

inline const OpcodeMeaning& meaning_of(std::uint8_t opcode) noexcept {
  return kMeanings[opcode & 0x1f];
}

/// The opcodes of one transport by what they say, so that making a packet searches no table.
class OpcodeSet {
 public:
  explicit OpcodeSet(wire::Transport transport) noexcept;

  /// Extras count on a message's last packet only. The transport must have such a packet.
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

/// Where packet `index` of `count` stands.
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

/// max(1, ceil(length / mtu)): a message without payload is a packet too.
constexpr std::uint32_t packets_of(std::uint64_t length, std::uint32_t mtu) noexcept {
  if (length <= mtu) return 1;
  // An MTU is a power of two: no division.
  return static_cast<std::uint32_t>((length + mtu - 1) >> std::countr_zero(mtu));
}

}  // namespace lw::transport
