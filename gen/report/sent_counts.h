// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/flow/profile.h"
#include "core/error.h"
#include "gen/receive/measurement.h"
#include "gen/report/run_report.h"
#include "gen/stats/run_stats.h"

namespace lw::gen {

/// Final counters of the sender, in the profile's order of flows. A receiver needs them to see that
/// the last frames of a flow are missing. No value: unknown.
using SentCounts = std::vector<std::optional<FlowCounters>>;

/// Returns the counters of a sender that sends the whole profile with its own seed. Unknown: flows
/// that repeat forever, and irregular flows of more than 20 million batches.
SentCounts planned_counts(const config::FlowProfile& profile);

/// Reads the counters from the JSON report of `roce-gen run`. `source` names the text in errors.
/// Errors (usage): it is not such a report, or its flows are not the profile's.
Result<SentCounts> parse_sent_counts(std::string_view json, const std::string& source,
                                     const config::FlowProfile& profile);

/// Checks the receiver's part of [expect] with the sender's counters, and that no flow's last
/// frames are missing: with a bound on loss, as part of the loss; without one, any missing end
/// breaks the verdict. Names the flows whose end cannot be judged. `joined`: reception may have
/// started after the sender.
void judge_with_counts(Verdict& verdict, const config::FlowProfile& profile,
                       const Measurement& measurement, const SentCounts& counts, bool joined);

}  // namespace lw::gen
