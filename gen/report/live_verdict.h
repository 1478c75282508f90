// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/machine.h"
#include "core/verdict.h"
#include "gen/report/progress_display.h"

namespace lw::gen {

/// A run or reception at one time.
struct RunSoFar {
  const FlowProgress& all;  // sum of all flows
  PacingSoFar pacing = {};
  Duration elapsed{};
  std::vector<OwnLoss> losses = {};  // of this machine
  bool knows_sender = false;         // what is lost is a failure, and not only shown
  bool ended = false;                // no frame is on its way
};

/// The verdict so far, without expectations. A frame that is on its way is not lost.
Verdict verdict_of(const RunSoFar& run);

}  // namespace lw::gen
