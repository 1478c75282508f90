// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "impair/control/live_profile.h"
#include "impair/record/replay_source.h"
#include "impair/report/report.h"

namespace lw::impair {

struct ReplayConfig {
  ReplayInput input;
  std::string out;                     // a capture; "-" is standard output
  std::optional<std::string> ledger;   // a file for the ledger
  std::optional<std::string> capture;  // a pcapng file for what comes in and goes out
};

/// A report, and what was wrong with a capture behind what could be read of it.
struct ReplayOutcome {
  Report report;
  std::optional<Error> damage;
  std::uint64_t not_captured = 0;  // frames that a recording's numbers say it skipped
};

/// Puts a capture, or one of each direction, through a profile's stages in virtual time: each frame
/// comes in when its stamp says, and leaves exactly when it is due. The same input, profile and
/// seed give the same bytes. A stamp that is before its predecessor's counts as equal to it.
/// The scenario goes by the stamps: its time 0 is the first frame's.
Result<ReplayOutcome> replay(const LiveProfile::Version& profile, const ReplayConfig& config);

}  // namespace lw::impair
