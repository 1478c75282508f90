// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"
#include "path/decision.h"

namespace lw::path {

inline constexpr std::uint32_t kNotLogged = 0xffffffff;

/// What is known of a frame between its coming in and its going out, beside its handle.
struct Transit {
  Instant in;                // came in
  Instant due;               // should leave; the same where nothing delays it
  std::uint64_t number = 0;  // ingress frame number
  std::uint32_t bytes = 0;   // without FCS
  std::uint32_t ledger_slot = kNotLogged;
  RuleIndex rule = kUntouched;
  bool queued = false;    // waited in the release queue
  std::uint8_t copy = 0;  // 0: the frame itself
  StageSet acted = {};    // as in its decision, these two
  EventAction aimed = EventAction::drop;
};

}  // namespace lw::path
