// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "impair/report/report.h"

namespace lw::impair {

/// Adds /impair/stats and /impair/rules to DPDK's telemetry during its lifetime. One object per
/// process, created after EAL has started. `snapshot` is called on DPDK's thread.
///
/// /impair/stats    frames, bytes and release errors of both directions, as a flat dictionary
/// /impair/rules    list of the rules' names; with a rule's number, its figures: /impair/rules,0
class Telemetry {
 public:
  explicit Telemetry(std::function<Report()> snapshot);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;
};

}  // namespace lw::impair
