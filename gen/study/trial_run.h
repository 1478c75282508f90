// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/flow/profile.h"
#include "gen/arp/neighbor_table.h"
#include "gen/stats/limits.h"
#include "gen/study/rate_search.h"
#include "gen/tx/ports.h"

namespace lw::gen {

/// What trials run between: where frames go and where they arrive. The two may be one port, a
/// loop.
struct TrialEnds {
  Ports& senders;
  nic::Port& receiver;
  NeighborTable& neighbourhood;
};

/// The profile of one message size: every flow without an end, and signed, so that a frame which
/// arrives late is not counted for another trial. Errors (usage): an operation that can't have it.
Result<config::FlowProfile> with_message_size(config::FlowProfile profile, std::uint64_t size);

/// Sends a profile at a fraction of its rates for limits.duration, counts what arrives, in a
/// thread of its own, until nothing more has for `settle`.
Result<Trial> run_trial(config::FlowProfile profile, double fraction, const TrialEnds& ends,
                        const Limits& limits, Duration settle);

}  // namespace lw::gen
