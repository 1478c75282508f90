// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/error.h"
#include "gen/app/run_profile.h"
#include "gen/ranks/ranks.h"

namespace lw::gen {

/// Runs `roce-gen run` as one of several ranks: its part of the profile, together with the others.
/// Rank 0 prints the report of all. Returns the exit code, which is the same on all ranks.
ExitCode run_as_rank(RunOptions& options, Ranks& ranks);

}  // namespace lw::gen
