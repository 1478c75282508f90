// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "wire/view.h"

namespace lw::wire {

/// What follows a CNP's BTH (opcode 0x81, BECN 1, PSN 0): sixteen zero bytes, so that over IPv4 a
/// CNP's total length is 60. (IBTA vol. 1, annex A17.9)
struct CnpReserved {
  std::array<std::byte, 16> zeros{};

  [[nodiscard]] bool all_zero() const noexcept {
    return std::ranges::all_of(zeros, [](std::byte b) { return b == std::byte{0}; });
  }
};
static_assert(sizeof(CnpReserved) == 16 && alignof(CnpReserved) == 1);

}  // namespace lw::wire
