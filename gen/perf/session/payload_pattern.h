// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/opcode.h"
#include "wire/view.h"

namespace lw::gen {

/// The operand of atomic `number`: FETCH ADD adds one; COMPARE SWAP replaces `number` by one more.
constexpr std::uint64_t swap_add_of(wire::Operation operation, std::uint64_t number) noexcept {
  return operation == wire::Operation::cmp_swap ? number + 1 : 1;
}

/// The side that filled a message.
enum class Side : std::uint8_t { client, responder };

/// The content of perf's messages, which the receiver checks byte by byte: the message's number in
/// the first eight bytes (big-endian; shorter messages: its lowest bytes), then words that depend
/// on side, QP, message and offset: each is a constant more than the word before it, so that a loop
/// over words is one over vectors.
class PayloadPattern {
 public:
  /// `client_qpn`: the client's QP number, which both sides know.
  PayloadPattern(Side side, std::uint32_t client_qpn) noexcept
      : key_(std::uint64_t{client_qpn} << 8 | (side == Side::client ? 1U : 2U)) {}

  /// Writes a message.
  void write(wire::MutableBytes message, std::uint64_t number) const noexcept {
    write_part(message, 0, message.size(), number);
  }
  /// Writes the bytes from `offset` on of a message of `size` bytes.
  void write_part(wire::MutableBytes part, std::size_t offset, std::size_t size,
                  std::uint64_t number) const noexcept;
  /// Returns the number in a message.
  [[nodiscard]] static std::uint64_t number_of(wire::Bytes message) noexcept;
  /// Returns true if the bytes are those of message `number`.
  [[nodiscard]] bool holds(wire::Bytes message, std::uint64_t number) const noexcept {
    return holds_part(message, 0, message.size(), number);
  }
  /// Returns true if the bytes are those from `offset` on of message `number`, of `size` bytes.
  [[nodiscard]] bool holds_part(wire::Bytes part, std::size_t offset, std::size_t size,
                                std::uint64_t number) const noexcept;
  /// Overwrites a slot, so that an old message is not taken for a new one.
  static void clear(wire::MutableBytes slot) noexcept;

 private:
  [[nodiscard]] std::uint64_t start_of(std::uint64_t number) const noexcept;
  std::uint64_t key_;
};

}  // namespace lw::gen
