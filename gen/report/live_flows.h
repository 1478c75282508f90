// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "gen/report/progress_display.h"
#include "report/live_screen.h"

namespace lw::gen {

/// Formats the times: "12 s, 48 s left".
std::string time_text(const ProgressNow& now);

/// Makes the live view of flows: totals, and the busiest flows. Adds the total rate to `trend`.
report::LiveModel flow_model(const std::string& title, const ProgressNow& now,
                             report::Sparkline& trend);

/// Formats the totals as one line.
std::string flow_line(const ProgressNow& now);

/// Formats rates: "1.23 Gb/s, 120000 frames/s".
std::string rate_text(double bits_per_second, double frames_per_second);

}  // namespace lw::gen
