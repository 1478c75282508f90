// SPDX-License-Identifier: BSD-3-Clause
#include "impair/cli/run.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <sched.h>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "app/stop_signal.h"
#include "app/supervisor.h"
#include "core/huge_pages.h"
#include "core/output.h"
#include "core/quantity.h"
#include "impair/control/scenario_runner.h"
#include "impair/control/services.h"
#include "impair/datapath/configuration.h"
#include "impair/datapath/port_io.h"
#include "impair/record/ledger_file.h"
#include "impair/record/recordings.h"
#include "impair/report/live_report.h"
#include "impair/report/report_plots.h"
#include "impair/report/rule_report.h"
#include "report/live_view.h"
#include "wire/ethernet.h"

namespace lw::impair {
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

/// Requests of other threads are answered meanwhile.
Result<void> wait_links(Ports& ports, ForwardingLoop& loop, const RunConfig& config,
                        const StopSignal& stop) {
  const auto serve = [&loop] { loop.serve_other_threads(); };
  for (nic::Port* port : {&ports.west, &ports.east})
    if (auto up = port->wait_link(config.wait, stop.requested(), serve); !up) return up;
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
  /// Marks the changes in the rates over time, if there are any.
  void mark(const ChangeLog& log, std::int64_t clock_offset_ns) {
    if (history_ == nullptr) return;
    for (const Change& change : log.changes())
      history_->mark(change.time - Duration{clock_offset_ns} - start_.time_since_epoch(),
                     fmt::format("{} ({})", change_text(change), change.by));
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

/// A run from its open ports to its report. Members are destroyed from the last to the first.
class Run {
 public:
  /// `version` and `config` outlive it.
  Run(const LiveProfile::Version& version, const RunConfig& config)
      : version_(version), config_(config), progress_(config) {}

  /// Opens the ports and the files, and starts the services.
  Result<void> open();
  /// Waits for the links, forwards until the end, and then sends the frames inside.
  Result<void> forward();
  /// Closes the files. The report is made in any case: it includes the error of a file that could
  /// not be written.
  Report report();

 private:
  Result<void> open_files();
  void make_loop();
  Result<void> start_services();
  void learn(const RuleNames& names);
  void add_records(Report& report) const;

  const LiveProfile::Version& version_;
  const RunConfig& config_;
  const StopSignal stop_{};
  const cpu_set_t allowed_ = affinity();
  std::optional<Ports> ports_;
  std::int64_t offset_ns_ = 0;  // wall clock, of captures, minus steady clock, of the loop
  LedgerOutput ledger_;
  std::optional<Recordings> recordings_;
  std::unique_ptr<ForwardingLoop> loop_;
  std::unique_ptr<ScenarioRunner> runner_;
  Progress progress_;
  std::unique_ptr<Services> services_;
  std::array<LinkLosses, 2> link_losses_{};
  OwnLossTimes loss_times_;
  bool stopped_ = false;  // by a signal
  std::optional<ScenarioReport> scenario_;
  ChangeLog changes_;
  EndedAudits ended_;
};

/// Returns a line for each port whose interface takes shorter packets than the profile's frames.
std::string short_ports(const Ports& ports, std::uint32_t largest_frame) {
  constexpr std::uint32_t kHeader = sizeof(wire::Ethernet);
  std::string text;
  for (const nic::Port* port : {&ports.west, &ports.east})
    if (const auto mtu = port->mtu(); mtu && *mtu + kHeader < largest_frame)
      text += fmt::format(
          "port {} has an MTU of {} B: it drops longer packets, and the profile's largest_frame "
          "allows {} B\n",
          port->name(), *mtu, largest_frame - kHeader);
  return text;
}

Result<void> Run::open() {
  auto ports = open_ports(version_.profile, config_);
  if (!ports) return std::unexpected(ports.error());
  ports_.emplace(std::move(*ports));
  fmt::print(stderr, "{}\n{}", ports_->eal.notice(),
             short_ports(*ports_, version_.profile.capacity.largest_frame));
  offset_ns_ = nic::wall_clock_ns() - to_ns(nic::now());
  if (auto opened = open_files(); !opened) return opened;
  make_loop();
  return start_services();
}

Result<void> Run::open_files() {
  const OffTheCores off_the_cores(allowed_, config_);
  auto ledger = open_ledger(version_.profile, config_, offset_ns_);
  if (!ledger) return std::unexpected(ledger.error());
  ledger_ = std::move(*ledger);
  recordings_.emplace(rule_names_of(version_.profile), offset_ns_);
  return config_.capture ? recordings_->open(*config_.capture, {.most_bytes = config_.capture_bytes,
                                                                .rotation = config_.rotation})
                         : Result<void>{};
}

/// Runs on the loop's core, because the loop's memory must be near it.
void Run::make_loop() {
  loop_ = std::make_unique<ForwardingLoop>(version_.profile, *ports_, ledger_.sink());
  loop_->record_from_start(recordings_->recorders());
}

Result<void> Run::start_services() {
  const OffTheCores off_the_cores(allowed_, config_);
  runner_ = std::make_unique<ScenarioRunner>(
      version_, *loop_, *ports_, [this](const RuleNames& names) { learn(names); },
      [this](Report& report) { add_records(report); },
      ChangeLog(offset_ns_, [this](const Change& change) {
        if (ledger_.file) ledger_.file->note(change);
        recordings_->note(change);
      }));
  auto services = Services::start(config_, {*runner_, *loop_, *recordings_, ledger_.file.get()});
  if (!services) return std::unexpected(services.error());
  services_ = std::move(*services);
  return {};
}

void Run::learn(const RuleNames& names) {
  if (ledger_.file) ledger_.file->learn(names);
  recordings_->learn(names);
}

void Run::add_records(Report& report) const {
  if (ledger_.file)
    report.ledger = LedgerReport{*config_.ledger, ledger_.file->records(),
                                 ledger_.thread->skipped(), ledger_.file->lost()};
  report.captures = recordings_->reports();
}

Result<void> Run::forward() {
  if (auto up = wait_links(*ports_, *loop_, config_, stop_); !up) {
    loop_->close();
    return up;
  }
  runner_->watch_links(config_.on_link_loss.value_or(version_.profile.on_link_loss));
  {
    const OffTheCores off_the_cores(allowed_, config_);
    progress_.start(nic::now(), *runner_);
  }
  loop_->work(config_, stop_.requested(), [this](Instant now, const PortForwarder& forwarder) {
    progress_.tick(now, forwarder);
  });
  const Instant end = nic::now();
  stopped_ = stop_.requested();
  notify_supervisor("STOPPING=1");
  runner_->refuse_changes();
  link_losses_ = runner_->end_watching();
  for (nic::Port* port : {&ports_->west, &ports_->east}) port->end_receiving();
  loop_->drain([this] { return stop_.forced(); });  // services continue: clients need not wait
  loss_times_ = runner_->loss_times();
  services_.reset();
  progress_.stop();
  progress_.sample(nic::now(), loop_->forwarder());
  scenario_ = runner_->scenario(end);
  std::tie(changes_, ended_) = runner_->changes();
  progress_.mark(changes_, offset_ns_);
  runner_.reset();
  return {};
}

Report Run::report() {
  const config::ImpairProfile& profile = version_.profile;
  Report report{.command = "run", .profile = profile.name, .seed = profile.seed};
  auto statistics = loop_->statistics();
  report.seconds = statistics.seconds;
  report.directions = std::move(statistics.directions);
  report.stalls = statistics.stalls;
  report.duration = config_.duration;
  report.stopped = stopped_;
  set_losses(report, *ports_, link_losses_, loss_times_);
  report.scenario = scenario_;
  add_changes(report, changes_, ended_);
  if (ledger_.file) {
    ledger_.thread->finish();
    report_at_end(ledger_.file->close(ledger_.thread->skipped()));
  }
  if (recordings_->is_open())
    if (const auto closed = recordings_->close(); !closed)
      report_at_end(std::unexpected(closed.error()));
  add_records(report);
  progress_.finish(report);
  return report;
}

}  // namespace

Result<Report> run(const LiveProfile::Version& version, const RunConfig& config) {
  // Check this before the ledger is opened, because that empties the file.
  if (config.capture)
    if (auto named = RecordingFile::check_name(*config.capture); !named)
      return std::unexpected(named.error());
  if (auto fits = check_memory(version.profile, available_memory()); !fits)
    return std::unexpected(fits.error());
  touch_huge_arrays(true);
  const auto run = std::make_unique<Run>(version, config);
  if (auto opened = run->open(); !opened) return std::unexpected(opened.error());
  if (auto forwarded = run->forward(); !forwarded) return std::unexpected(forwarded.error());
  return run->report();
}

}  // namespace lw::impair
