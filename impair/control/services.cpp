// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/services.h"

#include <utility>

#include <fmt/core.h>

#include "app/supervisor.h"
#include "impair/datapath/forwarding_loop.h"
#include "impair/datapath/ports.h"
#include "report/html_page.h"
#include "wire/opcode.h"

namespace lw::impair {

extern const report::HtmlPage kLivePage;  // live.html, made by embed.py

namespace {

/// Begins a recording while the run forwards.
Result<void> begin_recording(ForwardingLoop& loop, Recordings& recordings, const std::string& file,
                             const RecordingShape& shape) {
  if (auto opened = recordings.open(file, shape); !opened) return opened;
  if (loop.record(recordings.recorders())) return {};
  static_cast<void>(recordings.close());
  return fail("record: the run does not forward any longer", ExitCode::failed);
}

Result<CaptureReport> end_recording(ForwardingLoop& loop, Recordings& recordings) {
  if (!loop.record({}))
    return fail("stop-recording: the run does not forward any longer", ExitCode::failed);
  return recordings.close();
}

/// Returns functions that carry out the requests of clients.
Control::Run requests_of(const Controlled& controlled) {
  ScenarioRunner& runner = controlled.runner;
  ForwardingLoop& loop = controlled.loop;
  Recordings& recordings = controlled.recordings;
  return {
      .set = [&](auto edits, const auto& by) { return runner.set(edits, by); },
      .load =
          [&](const auto& file, const auto& by, Instant begin) {
            notify_reloading();
            auto loaded = runner.load(file, by, begin);
            notify_supervisor("READY=1");
            return loaded;
          },
      .reset = [&](const auto& by) { return runner.reset(by); },
      .undo = [&](const auto& by) { return runner.undo(by); },
      .command = [&](const auto& command, const auto& by,
                     Instant begin) { return runner.command(command, by, begin); },
      .preview = [&](auto edits) { return runner.preview(edits); },
      .in_force = [&] { return runner.in_force(); },
      .snapshot = [&] { return runner.snapshot(); },
      .records = [ledger = controlled.ledger]() -> Result<std::vector<std::string>> {
        if (!ledger) return fail("records: the run has no ledger: start it with --ledger FILE");
        return ledger->newest();
      },
      .record = [&](const auto& file,
                    const auto& shape) { return begin_recording(loop, recordings, file, shape); },
      .stop_recording = [&] { return end_recording(loop, recordings); }};
}

}  // namespace

Result<std::unique_ptr<Services>> Services::start(const RunConfig& config,
                                                  const Controlled& controlled) {
  std::unique_ptr<Services> services(new Services(config, controlled));
  ScenarioRunner& runner = controlled.runner;
  if (config.control)
    if (auto serving = services->serve_control(*config.control); !serving)
      return std::unexpected(serving.error());
  if (config.metrics)
    if (auto serving = services->serve_metrics(*config.metrics, runner); !serving)
      return std::unexpected(serving.error());
  if (config.web.address)
    if (auto serving = services->serve_page(config); !serving)
      return std::unexpected(serving.error());
  if (config.telemetry) services->telemetry_.emplace([&runner] { return runner.snapshot(); });
  return services;
}

Result<void> Services::serve_control(const std::string& path) {
  const auto address = net::SocketAddress::unix_path(path);
  if (!address) return std::unexpected(address.error());
  auto socket = net::ListeningSocket::open(*address);
  if (!socket) return std::unexpected(socket.error());
  const auto answer = [this](std::string_view request, const std::string& peer) {
    return net::Protocol::Answer{
        .text = control_.answer(request, Control::Access::full, "control, " + peer)};
  };
  control_server_.emplace(
      std::move(*socket),
      net::Protocol{.longest = net::kMostControlRequest,
                    .length = net::line_length,
                    .answer = answer,
                    .too_long = net::shared(Control::too_long(net::kMostControlRequest))});
  return {};
}

Result<void> Services::serve_metrics(const std::string& address, ScenarioRunner& runner) {
  auto site = web::open_metrics_site(address);
  if (!site) return std::unexpected(site.error());
  const auto metrics = [this, &runner](std::string_view, const std::string&) {
    return metrics_.get([&runner] { return to_prometheus(runner.snapshot()); });
  };
  // All its answers take the same time: one thread makes them, and moves their bytes.
  metrics_server_.emplace(
      std::move(*site),
      std::vector<web::Route>{{.path = "/metrics",
                               .guard = web::Guard::scraper,
                               .type = "text/plain; version=0.0.4; charset=utf-8",
                               .answer = metrics}},
      0);
  return {};
}

namespace {

/// Names of the opcodes by their numbers, for the records of the ledger.
report::Json opcode_names() {
  report::Json names = report::Json::object();
  for (const wire::OpcodeInfo& info : wire::all_opcodes())
    names[std::to_string(info.opcode)] = info.name;
  return names;
}

}  // namespace

Result<void> Services::serve_page(const RunConfig& config) {
  auto site = web::open_site(config.web);
  if (!site) return std::unexpected(site.error());
  const std::string url = site->url();
  const auto access = config.web_read_only ? Control::Access::read : Control::Access::change;
  web_server_.emplace(
      std::move(*site),
      web::routes_of({.page = report::html_text(kLivePage, {{"program", "roce-impair"},
                                                            {"read_only", config.web_read_only},
                                                            {"opcodes", opcode_names()}}),
                      .state = [this] { return control_.answer(R"({"do":"show"})"); },
                      .answer =
                          [this, access](std::string_view request, const std::string& peer) {
                            return control_.answer(request, access, "page, " + peer);
                          }}));
  fmt::print(stderr, "live page: {}\n", url);
  return {};
}

Services::Services(const RunConfig& config, const Controlled& controlled)
    : control_(requests_of(controlled), config.web_files) {}

}  // namespace lw::impair
