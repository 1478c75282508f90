// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

namespace lw::wire {

struct FethFields {
  std::uint8_t placement = 0;    // PLT, 4 bits: 1 global visibility, 2 persistence
  std::uint8_t selectivity = 0;  // SEL, 2 bits: 0 memory range, 1 memory region
  friend bool operator==(const FethFields&, const FethFields&) = default;
};

inline constexpr NamedValue kPlacements[] = {{"global", 1}, {"persistent", 2}, {"both", 3}};
inline constexpr NamedValue kSelectivities[] = {{"range", 0}, {"region", 1}};

/// Flush extended transport header. (IBTA vol. 1, annex A19)
///
///   | reserved 26 | selectivity 2 | placement type 4 |
struct Feth {
  Be32 bits;

  using Fields = FethFields;
  static constexpr std::string_view kName = "FETH", kLayer = "feth";
  static constexpr std::array kFields = {
      field<&FethFields::placement>({.name = "infiniband.feth.plt",
                                     .key = "placement",
                                     .help = "where flushed data must arrive",
                                     .text = "placement {}",
                                     .bits = 4,
                                     .choices = kPlacements}),
      field<&FethFields::selectivity>({.name = "infiniband.feth.sel",
                                       .key = "selectivity",
                                       .help = "how much memory is flushed",
                                       .text = "selectivity {}",
                                       .bits = 2,
                                       .choices = kSelectivities}),
  };

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
