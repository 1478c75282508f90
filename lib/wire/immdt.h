// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/big_endian.h"

namespace lw::wire {

struct ImmDtFields {
  std::uint32_t immediate = 0;
  friend bool operator==(const ImmDtFields&, const ImmDtFields&) = default;
};

/// Immediate data. (IBTA vol. 1, 9.3.6)
///
///   | immediate data 32 |
struct ImmDt {
  Be32 immediate;

  [[nodiscard]] ImmDtFields fields() const noexcept { return {immediate.get()}; }
  void set(const ImmDtFields& f) noexcept { immediate.set(f.immediate); }
};
static_assert(sizeof(ImmDt) == 4 && alignof(ImmDt) == 1);

}  // namespace lw::wire
