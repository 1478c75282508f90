// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <span>
#include <string>

#include "roce/envelope.h"

namespace lw::analysis {

/// What explains a bad ICRC.
struct IcrcError {
  enum class Kind : std::uint8_t {
    unwritten,    // zeros, ones, or a constant: nobody wrote one
    damage,       // one bit was flipped
    rewritten,    // something on the path changed a field of 16 bits
    translated,   // something on the path changed an address: fits, but proves little alone
    mistake,      // its sender computes ICRCs in a wrong way
    unexplained,  // none of these
  };
  Kind kind = Kind::unexplained;
  std::string text = {};  // "bit 3 of byte 70 was flipped (payload byte 16)"

  /// Whether it explains why each packet of the sender has a bad one.
  [[nodiscard]] bool concerns_all() const noexcept {
    return kind == Kind::mistake || kind == Kind::rewritten || kind == Kind::translated;
  }
  /// Whether it is good for a frame. `single`: its sender has others with a right one, so no
  /// address was translated.
  [[nodiscard]] bool explains(bool single) const noexcept {
    return !(single && kind == Kind::translated);
  }
};

/// An address, as in a GID.
using KnownAddresses = std::span<const std::array<std::byte, 16>>;

/// Explains a bad ICRC: nobody wrote it; its sender computes it in a wrong way; or the smallest
/// change of the packet that makes it right: one flipped bit, a 16-bit field, or an address that
/// something on the path rewrote. Any wrong ICRC fits some old address: one is named only if it is
/// of private use, near to the packet's own addresses, or among `known`, those of the capture.
/// Requires a bad ICRC.
IcrcError explain_bad_icrc(const roce::Envelope& envelope, KnownAddresses known = {});

}  // namespace lw::analysis
