// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/services.h"

#include <algorithm>

#include <fmt/format.h>

#include "impair/control/metrics.h"

namespace lw::impair {
namespace {

PortReport report_of(std::string_view side, const nic::Port& port) {
  const nic::PortStats stats = port.stats();
  return {std::string(side),
          port.name(),
          stats.received,
          stats.sent,
          stats.missed,
          stats.no_buffer,
          stats.receive_errors + stats.send_errors};
}

}  // namespace

std::vector<PortReport> port_reports(const Equipment& equipment) {
  return {report_of("west", equipment.west), report_of("east", equipment.east)};
}

Result<std::unique_ptr<Services>> Services::start(const RunConfig& config,
                                                  const LiveProfile::Version& profile, Bump& bump,
                                                  const Equipment& equipment, LedgerFile* ledger) {
  std::unique_ptr<Services> services(new Services(profile, bump, equipment, ledger));
  Services* self = services.get();
  if (config.control) {
    auto socket = ListeningSocket::unix_socket(*config.control);
    if (!socket) return std::unexpected(socket.error());
    self->control_server_.emplace(std::move(*socket), "\n", [self](std::string_view request) {
      return self->control_.answer(request);
    });
  }
  if (config.metrics) {
    auto socket = ListeningSocket::tcp(*config.metrics);
    if (!socket) return std::unexpected(socket.error());
    self->metrics_server_.emplace(std::move(*socket), "\r\n\r\n", [self](std::string_view request) {
      return http_answer(request, to_prometheus(self->snapshot()));
    });
  }
  if (config.telemetry) self->telemetry_.emplace([self] { return self->snapshot(); });
  return services;
}

Services::Services(const LiveProfile::Version& profile, Bump& bump, const Equipment& equipment,
                   LedgerFile* ledger)
    : bump_(&bump),
      equipment_(&equipment),
      ledger_(ledger),
      profile_(profile.profile.name),
      seed_(profile.profile.seed),
      names_(Configuration(profile.profile, {}).names()),
      control_(
          LiveProfile(profile), [this](const profile::ImpairProfile& next) { return apply(next); },
          [this] { return snapshot(); }) {}

Result<void> Services::apply(const profile::ImpairProfile& next) {
  const std::lock_guard lock(asking_);
  Configuration configuration(next, names_);
  RuleNames names = configuration.names();
  const std::size_t count = std::max(names[0].size(), names[1].size());
  if (count > bump_->most_rules())
    return fail(
        fmt::format("a run keeps the accounts of every rule that it ever had, of up to {}, "
                    "and this would be number {}: restart it",
                    bump_->most_rules(), count));
  if (ledger_) ledger_->learn(names);
  if (!bump_->apply(configuration)) return fail("the run has ended", ExitCode::failed);
  names_ = std::move(names);
  return {};
}

Report Services::snapshot() {
  Report report{.command = "run", .profile = profile_, .seed = seed_};
  const std::lock_guard lock(asking_);
  // A run that has just ended has nothing more to say than its ports.
  static_cast<void>(bump_->snapshot(report));
  report.ports = port_reports(*equipment_);
  return report;
}

}  // namespace lw::impair
