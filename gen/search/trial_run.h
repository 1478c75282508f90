// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/presence/neighbourhood.h"
#include "gen/run/limits.h"
#include "gen/search/rate_search.h"
#include "gen/send/ports.h"
#include "profile/flow_profile.h"

namespace lw::gen {

/// What trials run between: where frames go and where they arrive. The two may be one port, a
/// loop.
struct TrialEnds {
  Ports& senders;
  nic::Port& receiver;
  Neighbourhood& neighbourhood;
};

/// The profile of one message size: every flow without an end, and signed, so that a frame which
/// arrives late is not counted for another trial. Errors (usage): an operation that can't have it.
Result<profile::FlowProfile> with_message_size(profile::FlowProfile profile, std::uint64_t size);

/// Sends a profile at a fraction of its rates for limits.duration, counts what arrives, in a
/// thread of its own, until nothing more has for `settle`.
Result<Trial> run_trial(profile::FlowProfile profile, double fraction, const TrialEnds& ends,
                        const Limits& limits, Duration settle);

}  // namespace lw::gen
