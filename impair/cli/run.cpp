// SPDX-License-Identifier: BSD-3-Clause
#include "impair/cli/run.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <sched.h>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/stop_signal.h"
#include "app/supervisor.h"
#include "core/huge_pages.h"
#include "core/output.h"
#include "core/quantity.h"
#include "impair/control/control.h"
#include "impair/control/metrics.h"
#include "impair/control/request_server.h"
#include "impair/control/scenario_runner.h"
#include "impair/control/telemetry.h"
#include "impair/datapath/configuration.h"
#include "impair/datapath/port_io.h"
#include "impair/record/ledger_file.h"
#include "impair/record/recordings.h"
#include "impair/report/live_report.h"
#include "impair/report/report_plots.h"
#include "report/html_page.h"
#include "report/live_view.h"
#include "web/server.h"

namespace lw::impair {

extern const report::HtmlPage kLivePage;  // live.html, made by embed.py

namespace {

/// The ledger file and the thread that writes it; both null without --ledger.
struct LedgerOutput {
  std::unique_ptr<LedgerFile> file;
  std::unique_ptr<LedgerThread> thread;

  [[nodiscard]] emulator::LedgerSink* sink() const noexcept { return thread.get(); }
};

Result<LedgerOutput> open_ledger(const config::ImpairProfile& profile, const RunConfig& config,
                                 std::int64_t offset_ns) {
  LedgerOutput output;
  if (!config.ledger) return output;
  auto file = LedgerFile::create(*config.ledger, ledger_format_for(*config.ledger),
                                 rule_names_of(profile), offset_ns);
  if (!file) return std::unexpected(file.error());
  output.file = std::move(*file);
  output.thread = std::make_unique<LedgerThread>(*output.file);
  return output;
}

/// Begins a recording while the run forwards.
Result<void> begin_recording(ForwardingLoop& loop, Recordings& recordings, const std::string& file,
                             std::uint32_t bytes) {
  if (auto opened = recordings.open(file, bytes); !opened) return opened;
  if (loop.record(recordings.recorders())) return {};
  static_cast<void>(recordings.close());
  return fail("record: the run does not forward any longer", ExitCode::failed);
}

Result<CaptureReport> end_recording(ForwardingLoop& loop, Recordings& recordings) {
  if (!loop.record({}))
    return fail("stop-recording: the run does not forward any longer", ExitCode::failed);
  return recordings.close();
}

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
  /// Errors: a socket can't be opened (environment), its address is wrong (usage).
  static Result<std::unique_ptr<Services>> start(const RunConfig& config,
                                                 const Controlled& controlled);

 private:
  explicit Services(const Controlled& controlled);
  Result<void> serve_control(const std::string& path);
  Result<void> serve_metrics(const std::string& address, ScenarioRunner& runner);
  Result<void> serve_page(const RunConfig& config);

  Control control_;
  RecentText metrics_page_;
  std::optional<RequestServer> control_server_, metrics_server_;
  std::optional<web::Server> web_server_;
  std::optional<Telemetry> telemetry_;
};

Result<std::unique_ptr<Services>> Services::start(const RunConfig& config,
                                                  const Controlled& controlled) {
  std::unique_ptr<Services> services(new Services(controlled));
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

Result<void> Services::serve_page(const RunConfig& config) {
  auto site = web::open_site(config.web);
  if (!site) return std::unexpected(site.error());
  const std::string url = site->url();
  const auto access = config.web_read_only ? Control::Access::read : Control::Access::change;
  web_server_.emplace(
      std::move(*site),
      web::Content{
          .page = report::html_text(
              kLivePage, {{"program", "roce-impair"}, {"read_only", config.web_read_only}}),
          .state = [this] { return control_.answer(R"({"do":"show"})"); },
          .answer = [this, access](
                        std::string_view request) { return control_.answer(request, access); }});
  fmt::print(stderr, "live page: {}\n", url);
  return {};
}

/// Returns functions that carry out the requests of clients.
Control::Run requests_of(const Controlled& controlled) {
  ScenarioRunner& runner = controlled.runner;
  ForwardingLoop& loop = controlled.loop;
  Recordings& recordings = controlled.recordings;
  return {.set = [&](auto edits) { return runner.set(edits); },
          .load =
              [&](const auto& file) {
                notify_reloading();
                auto loaded = runner.load(file);
                notify_supervisor("READY=1");
                return loaded;
              },
          .reset = [&] { return runner.reset(); },
          .undo = [&] { return runner.undo(); },
          .command = [&](const auto& command) { return runner.command(command); },
          .preview = [&](auto edits) { return runner.preview(edits); },
          .profile = [&] { return runner.profile(); },
          .snapshot = [&] { return runner.snapshot(); },
          .records = [ledger = controlled.ledger]() -> Result<std::vector<std::string>> {
            if (!ledger) return fail("records: the run has no ledger: start it with --ledger FILE");
            return ledger->newest();
          },
          .record = [&](const auto& file,
                        auto bytes) { return begin_recording(loop, recordings, file, bytes); },
          .stop_recording = [&] { return end_recording(loop, recordings); }};
}

Services::Services(const Controlled& controlled) : control_(requests_of(controlled)) {}

cpu_set_t affinity() noexcept {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  return cpus;
}

/// During its lifetime, new threads start on the CPUs of `allowed` without the run's cores, if any
/// are left: --core pins the calling thread, and its threads would otherwise share its CPU.
class OffTheCores {
 public:
  OffTheCores(cpu_set_t allowed, const RunConfig& config) noexcept : before_(affinity()) {
    for (const auto& core : {config.core, config.second_core})
      if (core) CPU_CLR(static_cast<std::size_t>(*core), &allowed);
    if (config.core && CPU_COUNT(&allowed) > 0) sched_setaffinity(0, sizeof allowed, &allowed);
  }
  OffTheCores(const OffTheCores&) = delete;
  OffTheCores& operator=(const OffTheCores&) = delete;
  ~OffTheCores() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

Result<void> wait_links(Ports& ports, const RunConfig& config, const StopSignal& stop) {
  for (nic::Port* port : {&ports.west, &ports.east})
    if (auto up = port->wait_link(config.wait, stop.requested()); !up) return up;
  fmt::print(stderr, "ready\n");
  std::fflush(stderr);
  notify_supervisor("READY=1\nSTATUS=forwarding");
  return config.ready_file ? write_file(*config.ready_file, "ready\n") : Result<void>{};
}

/// Shows the progress of the run on standard error. Without the live view, the loop prints a line
/// about both directions from its counters: every second on a terminal, every 5 s elsewhere. The
/// live view has its own thread, which uses snapshots.
class Progress {
 public:
  /// `config` must outlive it.
  explicit Progress(const RunConfig& config)
      : view_({.mode = config.live.empty() ? report::LiveMode::brief : report::LiveMode::full,
               .elsewhere = std::chrono::seconds(5)}),
        live_(config.live),
        is_live_(!config.live.empty()),
        history_(config.history) {}

  /// Starts the display. Until stop(), `runner` supplies the snapshots of the live view.
  void start(Instant now, ScenarioRunner& runner) {
    start_ = last_ = now;
    view_.start(now);
    if (is_live_) thread_ = std::jthread([this, &runner](const auto& end) { watch(end, runner); });
  }
  /// Called by the loop. Prints a line if one is due; otherwise cheap.
  void tick(Instant now, const PortForwarder& forwarder) {
    if (history_ != nullptr && history_->due(now - start_)) [[unlikely]]
      sample(now, forwarder);
    if (!is_live_ && view_.due(now)) [[unlikely]]
      view_.show(now, {.title = {}, .line = line(now, forwarder)});
  }
  void stop() { thread_ = {}; }
  /// Adds a sample to the rates over time, if there are any.
  void sample(Instant now, const PortForwarder& forwarder) {
    if (history_ == nullptr) return;
    add_sample(*history_, now - start_,
               forwarder.link(emulator::Direction::west_to_east).counters(),
               forwarder.link(emulator::Direction::east_to_west).counters());
  }
  void finish(const Report& report) {
    if (is_live_) view_.finish(live_.model(report, true));
    view_.end();
  }

 private:
  struct Seen {
    std::uint64_t frames = 0, bytes = 0;
  };
  void watch(const std::stop_token& end, ScenarioRunner& runner);
  std::string line(Instant now, const PortForwarder& forwarder);
  static std::string describe(const PortForwarder::Link& link, Seen& seen, double seconds);

  report::LiveView view_;
  LiveReport live_;
  bool is_live_;
  report::RateHistory* history_;
  Instant start_, last_;
  Seen east_, west_;
  std::jthread thread_;
};

void Progress::watch(const std::stop_token& end, ScenarioRunner& runner) {
  std::mutex mutex;
  std::condition_variable_any waits;
  std::unique_lock lock(mutex);
  while (!end.stop_requested()) {
    constexpr auto kLook = std::chrono::milliseconds(50);
    waits.wait_for(lock, end, kLook, [] { return false; });
    const Instant now = nic::now();
    if (end.stop_requested() || !view_.due(now)) continue;
    const Report report = runner.snapshot();
    if (!report.directions.empty()) view_.show(now, live_.model(report));
  }
}

std::string Progress::line(Instant now, const PortForwarder& forwarder) {
  const double seconds = static_cast<double>((now - last_).count()) * 1e-9;
  last_ = now;
  return fmt::format("{:>4} s  east {}; west {}", (now - start_) / std::chrono::seconds(1),
                     describe(forwarder.link(emulator::Direction::west_to_east), east_, seconds),
                     describe(forwarder.link(emulator::Direction::east_to_west), west_, seconds));
}

std::string Progress::describe(const PortForwarder::Link& link, Seen& seen, double seconds) {
  const emulator::Amount sent = link.counters().sent.get();
  const emulator::Amount lost = link.counters().dropped_by_rule.get();
  const double frames = static_cast<double>(sent.frames - seen.frames) / seconds;
  const double bits = static_cast<double>(sent.bytes - seen.bytes) * 8 / seconds;
  seen = {sent.frames, sent.bytes};
  return fmt::format("{:.0f} frames/s {} ({} inside, {} dropped by rule)", frames,
                     bits > 0 ? format_bit_rate(bits) : "idle",
                     link.counters().account({}).remainder().frames, lost.frames);
}

}  // namespace

Result<Report> run(const LiveProfile::Version& version, const RunConfig& config) {
  const config::ImpairProfile& profile = version.profile;
  // Check this before the ledger is opened, because that empties the file.
  if (config.capture)
    if (auto named = RecordingFile::check_name(*config.capture); !named)
      return std::unexpected(named.error());
  if (auto fits = check_memory(profile, available_memory()); !fits)
    return std::unexpected(fits.error());
  touch_huge_arrays(true);
  const StopSignal stop;
  const cpu_set_t allowed = affinity();
  auto ports = open_ports(profile, config);
  if (!ports) return std::unexpected(ports.error());
  fmt::print(stderr, "{}\n", ports->eal.notice());
  // The loop uses the steady clock; time stamps of captures use the wall clock.
  const std::int64_t offset_ns = nic::wall_clock_ns() - to_ns(nic::now());
  std::optional<OffTheCores> off_the_cores(std::in_place, allowed, config);
  auto ledger = open_ledger(profile, config, offset_ns);
  if (!ledger) return std::unexpected(ledger.error());
  Recordings recordings(rule_names_of(profile), offset_ns);
  if (config.capture)
    if (auto opened = recordings.open(*config.capture, config.capture_bytes); !opened)
      return std::unexpected(opened.error());
  off_the_cores.reset();  // the loop's memory must be near its core
  const auto loop = std::make_unique<ForwardingLoop>(profile, *ports, ledger->sink());
  loop->record_from_start(recordings.recorders());
  const auto learn = [&](const RuleNames& names) {
    if (ledger->file) ledger->file->learn(names);
    recordings.learn(names);
  };
  off_the_cores.emplace(allowed, config);
  const auto add_records = [&](Report& report) {
    if (ledger->file)
      report.ledger = LedgerReport{*config.ledger, ledger->file->records(),
                                   ledger->thread->skipped(), ledger->file->lost()};
    report.captures = recordings.reports();
  };
  auto runner = std::make_unique<ScenarioRunner>(version, *loop, *ports, learn, add_records);
  Progress progress(config);
  auto services = Services::start(config, {*runner, *loop, recordings, ledger->file.get()});
  if (!services) return std::unexpected(services.error());
  off_the_cores.reset();
  if (auto up = wait_links(*ports, config, stop); !up) return std::unexpected(up.error());
  runner->watch_links(config.on_link_loss.value_or(profile.on_link_loss));
  off_the_cores.emplace(allowed, config);
  progress.start(nic::now(), *runner);
  off_the_cores.reset();
  loop->work(config, stop.requested(),
             [&](Instant now, const PortForwarder& forwarder) { progress.tick(now, forwarder); });
  notify_supervisor("STOPPING=1");
  const auto link_losses = runner->end_watching();
  for (nic::Port* port : {&ports->west, &ports->east}) port->end_receiving();
  loop->drain([&] { return stop.forced(); });  // services continue, so that clients don't wait
  services->reset();
  progress.stop();
  progress.sample(nic::now(), loop->forwarder());
  const auto scenario = runner->scenario();
  runner.reset();

  Report report{.command = "run", .profile = profile.name, .seed = profile.seed};
  auto statistics = loop->statistics();
  report.seconds = statistics.seconds;
  report.directions = std::move(statistics.directions);
  report.ports = port_reports(*ports, link_losses);
  report.scenario = scenario;
  // The report is made in any case: it includes the error of a file that could not be written.
  if (ledger->file) {
    ledger->thread->finish();
    if (auto closed = ledger->file->close(ledger->thread->skipped()); !closed)
      report.write_failure = closed.error();
  }
  if (recordings.is_open())
    if (auto closed = recordings.close(); !closed) report.write_failure = closed.error();
  add_records(report);
  progress.finish(report);
  return report;
}

}  // namespace lw::impair
