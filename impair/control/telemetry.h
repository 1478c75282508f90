// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "impair/report/report.h"

namespace lw::impair {

/// Adds /impair/stats and /impair/rules to DPDK's telemetry for as long as it lives; one a process,
/// after EAL has started. `snapshot` is called on DPDK's thread.
///
/// /impair/stats    both directions' frames and bytes and release errors, a flat dictionary
/// /impair/rules    names of the rules, one list; with a rule's place, its figures: /impair/rules,0
class Telemetry {
 public:
  explicit Telemetry(std::function<Report()> snapshot);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;
};

}  // namespace lw::impair
