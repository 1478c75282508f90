// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "roce/envelope.h"

namespace lw::roce {

enum class IcrcVerdict : std::uint8_t {
  not_roce,
  ok,
  bad,
  unverifiable,  // cut, a fragment, or lengths that contradict each other: no telling where it is
};

/// Checks the ICRC of a frame. It needs no known opcode: a flipped opcode bit is a bad ICRC.
IcrcVerdict check_icrc(const Envelope& envelope) noexcept;

/// Where the frame's ICRC stands, bytes from its start; nothing where that can't be told (see
/// unverifiable).
std::optional<std::size_t> icrc_offset(const Envelope& envelope) noexcept;

/// The ICRC that belongs to the frame, and where its four bytes stand; nothing where it can't be
/// told (see unverifiable).
struct IcrcPlace {
  std::size_t offset;
  std::uint32_t expected;
};
std::optional<IcrcPlace> expected_icrc(const Envelope& envelope) noexcept;

}  // namespace lw::roce
