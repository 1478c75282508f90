// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dissect/commands/commands.h"
#include "dissect/sessions/path_analysis.h"

namespace lw::dissect {

/// Adds --apart.
void add_apart_option(app::Options& options, bool& apart);
/// How the input is analysed.
AnalysisPlan plan_of(const CaptureInput& input, unsigned jobs);
/// Analyses the input as analyse_captures() does, and says on standard error what was decided about
/// its points, a line each.
Result<void> analyse_input(const CaptureInput& input, unsigned jobs, analysis::Analyst& analyst,
                           CollectedResults& results, AnalysedCaptures& captures);

}  // namespace lw::dissect
