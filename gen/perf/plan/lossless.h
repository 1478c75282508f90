// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/plan/quantities.h"

namespace lw::gen::planning {

/// Returns packets per ns of all QPs without losses.
double lossless_rate(const Quantities& given, const perf::PerfConfig& config);

}  // namespace lw::gen::planning
