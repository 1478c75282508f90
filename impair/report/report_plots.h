// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "emulator/stats/accounting.h"
#include "impair/report/report.h"
#include "report/plot.h"
#include "report/rate_history.h"

namespace lw::impair {

/// Plots of a run or a replay: histograms of delay, release error and pass latency per direction;
/// loss by rule, requested and measured; and the highest fill of each rule's queue.
std::vector<report::Plot> plots_of(const Report& report);

/// The rates over time of a run or a replay: frames that came in and went out, per direction, and
/// frames dropped by rules. `interval`: between samples at first.
report::RateHistory rate_history(Duration interval);
/// Adds a sample of both directions' counters.
void add_sample(report::RateHistory& history, Duration elapsed,
                const emulator::AccountCounters& eastward,
                const emulator::AccountCounters& westward);

}  // namespace lw::impair
