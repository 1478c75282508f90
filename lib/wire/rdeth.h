// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

namespace lw::wire {

struct RdethFields {
  std::uint32_t ee_context = 0;  // 24 bits
  friend bool operator==(const RdethFields&, const RdethFields&) = default;
};

/// Reliable datagram extended transport header. (IBTA vol. 1, 9.3.1)
///
///   | reserved 8 | end-to-end context 24 |
struct Rdeth {
  Be8 reserved;
  Be24 ee_context;

  using Fields = RdethFields;
  static constexpr std::string_view kName = "RDETH", kLayer = "rdeth";
  static constexpr std::array kFields = {
      field<&RdethFields::ee_context>({.name = "infiniband.rdeth.eecnxt",
                                       .key = "ee_context",
                                       .help = "end-to-end context",
                                       .text = "eecnxt {:#x}",
                                       .bits = 24}),
  };

  [[nodiscard]] RdethFields fields() const noexcept { return {ee_context.get()}; }
  void set(const RdethFields& f) noexcept {
    reserved.set(0);
    ee_context.set(f.ee_context);
  }
};
static_assert(sizeof(Rdeth) == 4 && alignof(Rdeth) == 1);

}  // namespace lw::wire
