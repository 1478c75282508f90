// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/big_endian.h"

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
