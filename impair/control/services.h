// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "impair/control/control.h"
#include "impair/control/request_server.h"
#include "impair/control/scenario_runner.h"
#include "impair/control/telemetry.h"

namespace lw::impair {

/// What a run offers to others while it works: the control socket, Prometheus' metrics and DPDK's
/// telemetry, as far as they were asked for. Their threads end with it; the runner must outlive
/// it.
class Services {
 public:
  /// Errors: environment (a socket can't be had), usage (its address is wrong).
  static Result<std::unique_ptr<Services>> start(const RunConfig& config, ScenarioRunner& runner);

 private:
  explicit Services(ScenarioRunner& runner);
  Result<void> serve_control(const std::string& path);
  Result<void> serve_metrics(const std::string& address, ScenarioRunner& runner);

  Control control_;
  RecentText metrics_page_;
  std::optional<RequestServer> control_server_, metrics_server_;
  std::optional<Telemetry> telemetry_;
};

}  // namespace lw::impair
