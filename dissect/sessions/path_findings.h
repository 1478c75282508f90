// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "analysis/analyst.h"
#include "dissect/path/path_packets.h"

namespace lw::dissect {

/// The anomalies of a path: what happened to packets between its points, as the points show it, and
/// what the analysis of its packets found before the first point, or behind the last one, of their
/// way. Each has the place where it happened; what both show is one anomaly. In the order of time.
///
/// A packet that was sent between two points and not seen at the second is lost there, unless its
/// connection shows that it arrived: it was acknowledged, and never sent again. Then the second
/// capture lacks it.
std::vector<analysis::Anomaly> path_findings(const std::vector<analysis::Anomaly>& analysed,
                                             const analysis::Analyst& analyst,
                                             const PathPackets& packets);

}  // namespace lw::dissect
