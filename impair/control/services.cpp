// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/services.h"

#include "impair/control/metrics.h"

namespace lw::impair {

Result<std::unique_ptr<Services>> Services::start(const RunConfig& config, ScenarioRunner& runner) {
  std::unique_ptr<Services> services(new Services(runner));
  if (config.control)
    if (auto serving = services->serve_control(*config.control); !serving)
      return std::unexpected(serving.error());
  if (config.metrics)
    if (auto serving = services->serve_metrics(*config.metrics, runner); !serving)
      return std::unexpected(serving.error());
  if (config.telemetry) services->telemetry_.emplace([&runner] { return runner.snapshot(); });
  return services;
}

Result<void> Services::serve_control(const std::string& path) {
  auto socket = ListeningSocket::unix_socket(path);
  if (!socket) return std::unexpected(socket.error());
  control_server_.emplace(
      std::move(*socket),
      RequestServer::Protocol{
          .end = "\n",
          .answer = [this](std::string_view request) { return control_.answer(request); },
          .too_long = Control::too_long(RequestServer::kLongestRequest)});
  return {};
}

Result<void> Services::serve_metrics(const std::string& address, ScenarioRunner& runner) {
  auto socket = ListeningSocket::tcp(address);
  if (!socket) return std::unexpected(socket.error());
  metrics_server_.emplace(
      std::move(*socket),
      RequestServer::Protocol{.end = "\r\n\r\n",
                              .answer =
                                  [this, &runner](std::string_view request) {
                                    if (auto refusal = http_refusal(request))
                                      return std::make_shared<const std::string>(
                                          std::move(*refusal));
                                    return metrics_page_.get([&runner] {
                                      return http_page(to_prometheus(runner.snapshot()));
                                    });
                                  },
                              .too_long = http_too_long()});
  return {};
}

Services::Services(ScenarioRunner& runner)
    : control_({.set = [&](auto edits) { return runner.set(edits); },
                .load = [&](const auto& file) { return runner.load(file); },
                .reset = [&] { return runner.reset(); },
                .command = [&](const auto& command) { return runner.command(command); },
                .profile = [&] { return runner.profile(); },
                .snapshot = [&] { return runner.snapshot(); }}) {}

}  // namespace lw::impair
