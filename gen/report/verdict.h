// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/flow/profile.h"
#include "gen/receive/measurement.h"
#include "gen/stats/run_stats.h"

namespace lw::gen {

/// Result of checking a run against the profile's [expect].
struct Verdict {
  std::vector<std::string> broken;     // "write-ipv4: p99 is 2.1 ms, expected <= 2 ms"
  std::vector<std::string> unchecked;  // keys for which this run has no values

  [[nodiscard]] bool holds() const noexcept { return broken.empty(); }
};

/// Checks every received flow against the bounds that a receiver can check. A bound on loss also
/// requires every signed flow of the profile to arrive. `sent` may be null; it gives the number of
/// frames sent, so that loss at the end of a flow counts too.
void judge_received(Verdict& verdict, const config::FlowProfile& profile,
                    const Measurement& measurement, const RunReport* sent);

/// Checks the sender's rates, unsent frames and pacing.
void judge_sent(Verdict& verdict, const config::FlowProfile& profile, const RunReport& sent);

/// Adds to `unchecked` the bounds that were not checked, because the run did not send or receive.
void note_unchecked(Verdict& verdict, const config::FlowProfile& profile, bool sent, bool received);

/// Lines for people; empty if the profile has no [expect].
std::string to_text(const Verdict& verdict, const config::FlowProfile& profile);
nlohmann::ordered_json to_json(const Verdict& verdict);

/// Number of the flow's signed frames that were sent and not received, in any order.
std::uint64_t lost_of(const ReceiveFlow& flow, const FlowCounters& sent);

}  // namespace lw::gen
