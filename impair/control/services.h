// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "impair/control/control.h"
#include "impair/control/metrics.h"
#include "impair/control/recent_text.h"
#include "impair/control/scenario_runner.h"
#include "impair/control/telemetry.h"
#include "impair/record/ledger_file.h"
#include "impair/record/recordings.h"
#include "web/server.h"

namespace lw::impair {

/// Parts of a run that clients can see and change. `ledger` is null if there is none.
struct Controlled {
  ScenarioRunner& runner;
  ForwardingLoop& loop;
  Recordings& recordings;
  LedgerFile* ledger;
};

/// Services of a run for clients: the control socket, Prometheus metrics, the live page and DPDK's
/// telemetry, if the options request them. Their threads end with the object. The parts of
/// `Controlled` must outlive it.
class Services {
 public:
  /// `config` must outlive the run's profile. Errors: a socket can't be opened (environment), its
  /// address is wrong (usage).
  static Result<std::unique_ptr<Services>> start(const RunConfig& config,
                                                 const Controlled& controlled);

 private:
  Services(const RunConfig& config, const Controlled& controlled);
  Result<void> serve_control(const std::string& path);
  Result<void> serve_metrics(const std::string& address, ScenarioRunner& runner);
  Result<void> serve_page(const RunConfig& config);

  Control control_;
  RecentText metrics_;
  std::optional<net::RequestServer> control_server_;
  std::optional<web::Server> metrics_server_, web_server_;
  std::optional<Telemetry> telemetry_;
};

}  // namespace lw::impair
