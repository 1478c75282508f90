// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/flow/profile.h"
#include "gen/receive/measurement.h"
#include "gen/report/run_report.h"

namespace lw::gen {

/// Whether what came out is what the profile's [expect] says.
struct Verdict {
  std::vector<std::string> broken;     // "write-ipv4: p99 is 2.1 ms, expected <= 2 ms"
  std::vector<std::string> unchecked;  // keys that this run has no figures for

  [[nodiscard]] bool holds() const noexcept { return broken.empty(); }
};

/// Holds every flow that was received to the bounds that a receiver can check. With a bound on
/// loss every signed flow of the profile must have come at all. `sent`, where there is a report,
/// says how many frames left: then loss at the end of a flow is loss too.
void judge_received(Verdict& verdict, const config::FlowProfile& profile,
                    const Measurement& measurement, const RunReport* sent);

/// Holds a sender to its rates, to its frames and to its pacing.
void judge_sent(Verdict& verdict, const config::FlowProfile& profile, const RunReport& sent);

/// Lists in `unchecked` what was bounded and not judged.
void note_unchecked(Verdict& verdict, const config::FlowProfile& profile, bool sent, bool received);

/// Lines for people; nothing where the profile expects nothing.
std::string to_text(const Verdict& verdict, const config::FlowProfile& profile);
nlohmann::ordered_json to_json(const Verdict& verdict);

/// Frames of the flow that left and never came; nothing of its order is asked.
std::uint64_t lost_of(const ReceiveFlow& flow, const FlowTally& sent);

}  // namespace lw::gen
