// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "wire/psn.h"

namespace lw::gen {

/// What differs from frame to frame within one template. Fields that the template's opcode
/// doesn't have are passed over.
struct VariableFields {
  wire::Psn psn;
  bool ack_req = false;
  std::uint64_t va = 0;                          // RETH or AtomicETH
  std::uint32_t msn = 0;                         // AETH
  std::uint32_t immediate = 0;                   // ImmDt
  std::uint64_t sequence = 0, send_time_ns = 0;  // signature
  std::uint32_t dma_length = 0;                  // RETH, where messages differ in size
  std::uint32_t payload = 0;                     // bytes, where the template is an elastic one
};

}  // namespace lw::gen
