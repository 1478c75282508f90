// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/flow/profile.h"
#include "core/error.h"
#include "gen/receive/measurement.h"
#include "gen/report/flow_report.h"
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

/// Sets what is known of the sender's frames in the rows of the profile's flows: the number sent,
/// and how many of them never came, the last ones included; or why that is unknown. `joined`:
/// reception may have started after the sender.
void set_sent(std::span<FlowRow> rows, const config::FlowProfile& profile, const SentCounts& counts,
              bool joined);

}  // namespace lw::gen
