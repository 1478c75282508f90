// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/services.h"

#include "impair/control/metrics.h"

namespace lw::impair {

Result<std::unique_ptr<Services>> Services::start(const RunConfig& config, ScenarioRunner& runner) {
  std::unique_ptr<Services> services(new Services(runner));
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
    self->metrics_server_.emplace(std::move(*socket), "\r\n\r\n",
                                  [&runner](std::string_view request) {
                                    return http_answer(request, to_prometheus(runner.snapshot()));
                                  });
  }
  if (config.telemetry) self->telemetry_.emplace([&runner] { return runner.snapshot(); });
  return services;
}

Services::Services(ScenarioRunner& runner)
    : control_({.set = [&](auto edits) { return runner.set(edits); },
                .load = [&](const auto& file) { return runner.load(file); },
                .reset = [&] { return runner.reset(); },
                .command = [&](const auto& command) { return runner.command(command); },
                .profile = [&] { return runner.profile(); },
                .snapshot = [&] { return runner.snapshot(); }}) {}

}  // namespace lw::impair
