// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

namespace lw::wire {

struct RethFields {
  std::uint64_t va = 0;
  std::uint32_t r_key = 0;
  std::uint32_t dma_length = 0;  // of the whole message, bytes
  friend bool operator==(const RethFields&, const RethFields&) = default;
};

/// RDMA extended transport header. (IBTA vol. 1, 9.3.3)
///
///   | virtual address 64 |
///   | R_Key 32 |
///   | DMA length 32 |
struct Reth {
  Be64 va;
  Be32 r_key;
  Be32 dma_length;

  using Fields = RethFields;
  static constexpr std::string_view kName = "RETH", kLayer = "reth";
  static constexpr std::array kFields = {
      field<&RethFields::va>({.name = "infiniband.reth.va",
                              .key = "va",
                              .help = "virtual address in the responder's memory",
                              .text = "va {:#x}",
                              .base = Base::hex,
                              .digits = 16,
                              .per_qp = true}),
      field<&RethFields::r_key>({.name = "infiniband.reth.r_key",
                                 .key = "rkey",
                                 .help = "key of the responder's memory region",
                                 .text = "rkey {:#x}",
                                 .base = Base::hex,
                                 .digits = 8,
                                 .per_qp = true}),
      field<&RethFields::dma_length>({.name = "infiniband.reth.dmalen",
                                      .help = "message length, in bytes",
                                      .text = "dmalen {}"}),
  };

  [[nodiscard]] RethFields fields() const noexcept {
    return {va.get(), r_key.get(), dma_length.get()};
  }
  void set(const RethFields& f) noexcept {
    va.set(f.va);
    r_key.set(f.r_key);
    dma_length.set(f.dma_length);
  }
};
static_assert(sizeof(Reth) == 16 && alignof(Reth) == 1);

}  // namespace lw::wire
