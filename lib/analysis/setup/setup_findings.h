// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>

#include "analysis/findings/finding_log.h"
#include "analysis/qp_flows.h"
#include "analysis/setup/setup_log.h"

namespace lw::analysis {

struct Session;

/// Joins set-ups and ICMP messages with the sessions that they belong to, at the end of a capture.
/// `end`: the stamp of its last frame.
void join_setups(SetupLog& log, std::deque<Session>& sessions, const QpFlows& flows, Instant end);

/// Notes an anomaly for each set-up that failed, for each connection that was ended while requests
/// were open, for the ICMP messages about each flow, and for each peer without a link address.
/// Requires join_setups(), and that the streams of the sessions have ended.
void judge_setups(const SetupLog& log, const std::deque<Session>& sessions, const QpFlows& flows,
                  FindingLog& findings);

}  // namespace lw::analysis
