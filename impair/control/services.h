// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "impair/control/control.h"
#include "impair/control/request_server.h"
#include "impair/control/telemetry.h"
#include "impair/loop/bump.h"

namespace lw::impair {

/// What a run offers to others while it works: the control socket, Prometheus' metrics and DPDK's
/// telemetry, as far as they were asked for. Their threads end with it; the bump must outlive it.
class Services {
 public:
  /// Errors: environment (a socket can't be had), usage (its address is wrong).
  static Result<std::unique_ptr<Services>> start(const RunConfig& config,
                                                 const LiveProfile::Version& profile, Bump& bump,
                                                 const Equipment& equipment, LedgerFile* ledger);

 private:
  Services(const LiveProfile::Version& profile, Bump& bump, const Equipment& equipment,
           LedgerFile* ledger);

  Result<void> apply(const profile::ImpairProfile& next);
  Report snapshot();

  Bump* bump_;
  const Equipment* equipment_;
  LedgerFile* ledger_;  // may be null
  std::string profile_;
  std::uint64_t seed_;
  RuleNames names_;
  std::mutex asking_;  // the bump answers one at a time
  Control control_;
  std::optional<RequestServer> control_server_, metrics_server_;
  std::optional<Telemetry> telemetry_;
};

/// What both ports' devices have counted.
std::vector<PortReport> port_reports(const Equipment& equipment);

}  // namespace lw::impair
