// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "gen/perf/plan/early_expiry.h"
#include "gen/perf/plan/quantities.h"

namespace lw::gen::planning {

/// Returns why every QP breaks without losses; empty if none does.
std::string_view breaks_because(const perf::PerfConfig& config, const Quantities& given,
                                EarlyExpiry early) noexcept;
/// Returns why no formula holds for a configuration; empty if one does.
std::string_view unknown_because(const perf::PerfConfig& config, const Quantities& given,
                                 double lossless, EarlyExpiry early);

}  // namespace lw::gen::planning
