// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

namespace lw::wire {

struct AtomicAckEthFields {
  std::uint64_t original = 0;
  friend bool operator==(const AtomicAckEthFields&, const AtomicAckEthFields&) = default;
};

/// Atomic acknowledge extended transport header. (IBTA vol. 1, 9.5.3)
///
///   | original remote data 64 |
struct AtomicAckEth {
  Be64 original;

  using Fields = AtomicAckEthFields;
  static constexpr std::string_view kName = "AtomicAckETH", kLayer = "atomicacketh";
  static constexpr std::array kFields = {
      field<&AtomicAckEthFields::original>({.name = "infiniband.atomicacketh.origremdt",
                                            .key = "original",
                                            .help = "value in memory before the operation",
                                            .text = "original {:#x}"}),
  };

  [[nodiscard]] AtomicAckEthFields fields() const noexcept { return {original.get()}; }
  void set(const AtomicAckEthFields& f) noexcept { original.set(f.original); }
};
static_assert(sizeof(AtomicAckEth) == 8 && alignof(AtomicAckEth) == 1);

}  // namespace lw::wire
