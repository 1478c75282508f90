// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

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

  using Fields = ImmDtFields;
  static constexpr std::string_view kName = "ImmDt", kLayer = "immdt";
  static constexpr std::array kFields = {
      field<&ImmDtFields::immediate>({.name = "infiniband.immdt",
                                      .key = "immediate",
                                      .help = "immediate data",
                                      .text = "imm {:#x}",
                                      .base = Base::bytes,
                                      .digits = 8}),
  };

  [[nodiscard]] ImmDtFields fields() const noexcept { return {immediate.get()}; }
  void set(const ImmDtFields& f) noexcept { immediate.set(f.immediate); }
};
static_assert(sizeof(ImmDt) == 4 && alignof(ImmDt) == 1);

}  // namespace lw::wire
