// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "gen/network/network_report.h"
#include "report/plot.h"

namespace lw::gen {

/// The network as a self-contained SVG document: in layers above its hosts, or, if all
/// switches have hosts, on a circle, and links coloured by the share of their rate that their
/// busier direction used after the warm-up. A pointer on a link or node shows its figures.
std::string network_svg(const NetworkReport& report);
/// The same without a run: links have one colour.
std::string network_svg(const NetworkFile& file);

/// Queue and use of the busiest ports over time.
std::vector<report::Plot> network_plots(const NetworkReport& report);

}  // namespace lw::gen
