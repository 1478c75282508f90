// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace lw::transport {

/// End-to-end credits as an AETH's five bits hold them: 0, 1, 2, 3, 4, 6, 8, 12 ... 32768; 31
/// stands for "not counted". (IBTA vol. 1, table 46)
constexpr std::uint32_t credits_of(std::uint8_t code) noexcept {
  if (code < 2) return code;
  return (2u + (code & 1u)) << (code / 2 - 1);
}

/// The code of the most credits that are not more than `credits`.
constexpr std::uint8_t credit_code(std::uint64_t credits) noexcept {
  std::uint8_t code = 30;
  while (credits_of(code) > credits) --code;
  return code;
}

}  // namespace lw::transport
