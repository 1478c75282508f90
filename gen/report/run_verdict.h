// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/flow/profile.h"
#include "core/question.h"
#include "gen/receive/measurement.h"
#include "gen/report/flow_report.h"
#include "gen/stats/run_stats.h"

/// What a run of flows, or a receiver, observes of the questions of config/flow/questions.h.
namespace lw::gen {

/// The rate of a sender whose schedule took `length` so far and which is `behind` it, as a share of
/// the rate asked for. Whether a low rate holds is unknown while it may have been held up just
/// then.
Observation rate_observation(Duration behind, Duration length, std::uint64_t frames);

/// The sender's: rate, end, pacing, unsent frames, ICRCs.
void observe_sent(Judge& judge, const config::FlowProfile& profile, const RunReport& sent);

/// The receiver's: loss, order, ICRCs, latencies. `knows_sender`: the flows are those of a profile,
/// or of the run itself; otherwise what is lost is only shown.
void observe_received(Judge& judge, const Measurement& measurement, std::span<const FlowRow> flows,
                      bool knows_sender);

/// Adds what the machine did; it may lose a tenth of the loss that the expectations permit.
void observe_machine(Judge& judge, const Machine& machine);

/// Adds an early end because an interface disappeared, or for another reason; empty: none.
void observe_end(Judge& judge, const std::string& interrupted);

}  // namespace lw::gen
