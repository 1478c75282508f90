// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "impair/report/report.h"
#include "path/direction.h"
#include "profile/impair_profile.h"

namespace lw::impair {

struct ReplayConfig {
  std::string in, out;  // captures; "-" is standard input and output
  path::Direction direction = path::Direction::west_to_east;
  std::optional<std::string> ledger;  // a file for the ledger
};

/// A report, and what was wrong with the capture behind what could be read of it.
struct ReplayOutcome {
  Report report;
  std::optional<Error> damage;
};

/// Puts a capture through a profile's stages in virtual time: each frame comes in when its stamp
/// says, and leaves exactly when it is due. The same input, profile and seed give the same bytes.
/// A stamp that is before its predecessor's counts as equal to it.
Result<ReplayOutcome> replay(const profile::ImpairProfile& profile, const ReplayConfig& config);

}  // namespace lw::impair
