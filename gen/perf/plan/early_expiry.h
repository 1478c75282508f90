// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "gen/perf/plan/quantities.h"

namespace lw::gen::planning {

/// What a timer does that may expire although nothing is lost.
enum class EarlyExpiry : std::uint8_t {
  none,      // it does not
  harmless,  // what is sent again is little, or fits into the time in which nothing else is sent
  breaks,    // the retries are used up before the first answer can come
  matters    // it costs throughput
};

EarlyExpiry early_expiry(const perf::PerfConfig& config, const Quantities& given, double lossless);

}  // namespace lw::gen::planning
