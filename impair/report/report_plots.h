// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "impair/report/report.h"
#include "report/plot.h"

namespace lw::impair {

/// Plots of a run or a replay: histograms of delay, release error and pass latency per direction;
/// loss by rule, requested and measured; and the highest fill of each rule's queue.
std::vector<report::Plot> plots_of(const Report& report);

}  // namespace lw::impair
