// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "analysis/requests/recoveries.h"
#include "analysis/requests/stream_state.h"

namespace lw::analysis {

/// Processes a packet whose IP identification shows that it was sent before the newest one: it is
/// late, or a copy. `known`: its entry in the log, a gap or a request. Returns false if this is not
/// certain.
bool take_late(StreamState& state, Recoveries& recoveries, const CapturedPacket& packet,
               Sequence psn, Sent& known);

/// Processes a packet that comes behind the one of `recovery` that was sent again in its place.
/// `known`: its entry in the log.
void take_overtaken(StreamState& state, Recoveries& recoveries, const Recovery& recovery,
                    const CapturedPacket& packet, Sequence psn, const Sent& known);

}  // namespace lw::analysis
