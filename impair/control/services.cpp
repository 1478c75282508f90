// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/services.h"

#include "impair/control/metrics.h"

namespace lw::impair {

Result<std::unique_ptr<Services>> Services::start(const RunConfig& config, Director& director) {
  std::unique_ptr<Services> services(new Services(director));
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
                                  [&director](std::string_view request) {
                                    return http_answer(request, to_prometheus(director.snapshot()));
                                  });
  }
  if (config.telemetry) self->telemetry_.emplace([&director] { return director.snapshot(); });
  return services;
}

Services::Services(Director& director)
    : control_({.set = [&](auto edits) { return director.set(edits); },
                .load = [&](const auto& file) { return director.load(file); },
                .reset = [&] { return director.reset(); },
                .command = [&](const auto& command) { return director.command(command); },
                .profile = [&] { return director.profile(); },
                .snapshot = [&] { return director.snapshot(); }}) {}

}  // namespace lw::impair
