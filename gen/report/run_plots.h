// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "gen/report/flow_report.h"
#include "report/plot.h"

namespace lw::gen {

/// Plots of sent flows: rates, requested and measured, and the pacing error.
std::vector<report::Plot> sent_plots(const RunReport& run, const config::FlowProfile& profile);

/// Plots of received flows: histograms of latency; lost, duplicated and reordered frames.
std::vector<report::Plot> received_plots(const Measurement& measurement, const FlowNames& names);

}  // namespace lw::gen
