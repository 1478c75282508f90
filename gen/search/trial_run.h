// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/flow/profile.h"
#include "gen/arp/neighbor_table.h"
#include "gen/report/progress_display.h"
#include "gen/search/rate_search.h"
#include "gen/stats/run_stats.h"
#include "gen/tx/ports.h"

namespace lw::gen {

/// The ports of a trial. Senders and receiver may be the same port, for a loop.
struct TrialEnds {
  Ports& senders;
  nic::Port& receiver;
  NeighborTable& neighbors;
  bool virtual_path = false;  // all ports are virtual: nothing on the path is of another machine
};

/// Returns the profile with one message size, in bytes. Every flow is endless and signed,
/// and has no deliberate faults. Errors (usage): an operation or a region can't have this size.
Result<config::FlowProfile> with_message_size(config::FlowProfile profile, std::uint64_t size);

/// Sends whole messages of a profile at `fraction` of its rates for limits.duration, at least one a
/// flow. A second thread counts the received frames until none arrives for `quiet_time`. `display`
/// shows the sent frames. Moves each flow's first PSN behind the last one sent, so that the next
/// trial continues from there.
Result<Trial> run_trial(config::FlowProfile& profile, double fraction, const TrialEnds& ends,
                        const Limits& limits, Duration quiet_time, ProgressDisplay& display);

}  // namespace lw::gen
