// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

namespace lw::wire {

struct AtomicEthFields {
  std::uint64_t va = 0;
  std::uint32_t r_key = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  friend bool operator==(const AtomicEthFields&, const AtomicEthFields&) = default;
};

/// Atomic extended transport header. (IBTA vol. 1, 9.3.4)
///
///   | virtual address 64 |
///   | R_Key 32 |
///   | swap, or add, data 64 |
///   | compare data 64 |
struct AtomicEth {
  Be64 va;
  Be32 r_key;
  Be64 swap_or_add;
  Be64 compare;

  using Fields = AtomicEthFields;
  static constexpr std::string_view kName = "AtomicETH", kLayer = "atomiceth";
  static constexpr std::array kFields = {
      // Wireshark shows the address and the key under the names of the RETH.
      field<&AtomicEthFields::va>({.name = "infiniband.reth.va",
                                   .key = "va",
                                   .help = "virtual address in the responder's memory",
                                   .text = "va {:#x}",
                                   .base = Base::hex,
                                   .digits = 16,
                                   .per_qp = true}),
      field<&AtomicEthFields::r_key>({.name = "infiniband.reth.r_key",
                                      .key = "rkey",
                                      .help = "key of the responder's memory region",
                                      .text = "rkey {:#x}",
                                      .base = Base::hex,
                                      .digits = 8,
                                      .per_qp = true}),
      field<&AtomicEthFields::swap_or_add>(
          {.name = "infiniband.atomiceth.swapdt", .help = "value to swap in, or to add"}),
      field<&AtomicEthFields::compare>(
          {.name = "infiniband.atomiceth.cmpdt", .help = "value to compare with"}),
  };

  [[nodiscard]] AtomicEthFields fields() const noexcept {
    return {va.get(), r_key.get(), swap_or_add.get(), compare.get()};
  }
  void set(const AtomicEthFields& f) noexcept {
    va.set(f.va);
    r_key.set(f.r_key);
    swap_or_add.set(f.swap_or_add);
    compare.set(f.compare);
  }
};
static_assert(sizeof(AtomicEth) == 28 && alignof(AtomicEth) == 1);

}  // namespace lw::wire
