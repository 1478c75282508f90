// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/big_endian.h"

namespace lw::wire {

struct FethFields {
  std::uint8_t placement = 0;    // PLT, 4 bits: 1 global visibility, 2 persistence
  std::uint8_t selectivity = 0;  // SEL, 2 bits: 0 memory range, 1 memory region
  friend bool operator==(const FethFields&, const FethFields&) = default;
};

/// Flush extended transport header. (IBTA vol. 1, annex A19)
///
///   | reserved 26 | selectivity 2 | placement type 4 |
struct Feth {
  Be32 bits;

  [[nodiscard]] FethFields fields() const noexcept {
    return {static_cast<std::uint8_t>(bits.get() & 15),
            static_cast<std::uint8_t>(bits.get() >> 4 & 3)};
  }
  void set(const FethFields& f) noexcept {
    bits.set(static_cast<std::uint32_t>((f.selectivity & 3) << 4 | (f.placement & 15)));
  }
};
static_assert(sizeof(Feth) == 4 && alignof(Feth) == 1);

}  // namespace lw::wire
