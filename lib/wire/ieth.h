// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

namespace lw::wire {

struct IethFields {
  std::uint32_t r_key = 0;
  friend bool operator==(const IethFields&, const IethFields&) = default;
};

/// Invalidate extended transport header. (IBTA vol. 1, 9.3.7)
///
///   | R_Key to invalidate 32 |
struct Ieth {
  Be32 r_key;

  using Fields = IethFields;
  static constexpr std::string_view kName = "IETH", kLayer = "ieth";
  static constexpr std::array kFields = {
      field<&IethFields::r_key>({.name = "infiniband.ieth",
                                 .key = "invalidate_rkey",
                                 .help = "memory key to invalidate",
                                 .text = "invalidate rkey {:#x}",
                                 .base = Base::bytes,
                                 .digits = 8}),
  };

  [[nodiscard]] IethFields fields() const noexcept { return {r_key.get()}; }
  void set(const IethFields& f) noexcept { r_key.set(f.r_key); }
};
static_assert(sizeof(Ieth) == 4 && alignof(Ieth) == 1);

}  // namespace lw::wire
