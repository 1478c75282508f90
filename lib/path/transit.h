// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"
#include "path/decision.h"

namespace lw::path {

inline constexpr std::uint32_t kNotLogged = 0xffffffff;

/// What is known of a frame between its coming in and its going out, beside its handle.
struct Transit {
  static constexpr unsigned kNumberBits = 55;

  Instant in;  // came in
  /// Ingress frame number; where `logged`, the frame's slot in the ledger, which has the number.
  std::uint64_t number_or_slot : kNumberBits = 0;
  std::uint64_t logged : 1 = 0;
  std::uint64_t copy : 8 = 0;  // 0: the frame itself
  std::uint32_t bytes = 0;     // without FCS
  RuleIndex rule = kUntouched;
  std::uint16_t acted : 12 = 0;  // as in its decision: StageSet::bits(),
  EventAction aimed : 3 = EventAction::drop;
  bool queued : 1 = false;  // waited in the release queue
};
// DPDK's buffers have 36 B to spare, and a driver may want 8 for a time stamp.
static_assert(sizeof(Transit) == 24);
static_assert(kStages <= 12);

}  // namespace lw::path
