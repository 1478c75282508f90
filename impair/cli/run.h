// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/error.h"
#include "impair/control/live_profile.h"
#include "impair/datapath/ports.h"
#include "impair/report/report.h"

namespace lw::impair {

/// Forwards between two ports until the end that `RunConfig` gives or a signal. Then sends the
/// frames in flight, and returns the report. Notices and progress go to stderr. Call it once per
/// process: it starts EAL and handles signals.
Result<Report> run(const LiveProfile::Version& profile, const RunConfig& config);

}  // namespace lw::impair
