// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

namespace lw::wire {

struct XrcethFields {
  std::uint32_t xrc_srq = 0;  // 24 bits
  friend bool operator==(const XrcethFields&, const XrcethFields&) = default;
};

/// XRC extended transport header: the shared receive queue. (IBTA vol. 1, annex A14)
///
///   | reserved 8 | XRCSRQ 24 |
struct Xrceth {
  Be8 reserved;
  Be24 xrc_srq;

  using Fields = XrcethFields;
  static constexpr std::string_view kName = "XRCETH", kLayer = "xrceth";
  static constexpr std::array kFields = {
      field<&XrcethFields::xrc_srq>({.name = "infiniband.xrceth.xrcsrq",
                                     .key = "xrc_srq",
                                     .help = "shared receive queue number",
                                     .text = "xrcsrq {:#x}",
                                     .base = Base::hex,
                                     .digits = 6,
                                     .bits = 24}),
  };

  [[nodiscard]] XrcethFields fields() const noexcept { return {xrc_srq.get()}; }
  void set(const XrcethFields& f) noexcept {
    reserved.set(0);
    xrc_srq.set(f.xrc_srq);
  }
};
static_assert(sizeof(Xrceth) == 4 && alignof(Xrceth) == 1);

}  // namespace lw::wire
