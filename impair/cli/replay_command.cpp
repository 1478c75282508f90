// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "app/stop_signal.h"
#include "core/error.h"
#include "core/output.h"
#include "impair/cli/commands.h"
#include "impair/cli/profile_input.h"
#include "impair/control/live_profile.h"
#include "impair/control/replay_runner.h"
#include "impair/datapath/configuration.h"
#include "impair/record/replay_source.h"
#include "impair/report/live_report.h"
#include "impair/report/report.h"
#include "impair/report/report_plots.h"
#include "impair/report/run_rows.h"
#include "nic/clock.h"
#include "report/figures/json.h"
#include "report/live_view.h"

namespace lw::impair {
namespace {

struct ReplayConfig {
  ReplayInput input;
  std::string out;                         // output capture; "-" is standard output
  std::optional<std::string> ledger;       // ledger file
  std::optional<std::string> capture;      // pcapng file of frames in and out
  Rotation rotation = {};                  // of the capture
  std::string live;                        // title of the live view; empty: none
  report::RateHistory* history = nullptr;  // of rate_history(), to be filled; null: none
};

/// The live view of a replay, and the rates over its virtual time.
class ReplayView {
 public:
  /// `history` may be null; otherwise it is filled.
  ReplayView(const std::string& title, report::RateHistory* history)
      : view_({.mode = title.empty() ? report::LiveMode::none : report::LiveMode::full}),
        live_(title),
        history_(history) {
    view_.start(nic::now());
  }

  /// Updates the view if an update is due; otherwise cheap.
  void tick(const ReplayRunner& runner) {
    if (history_ != nullptr && history_->due(runner.elapsed())) sample(runner);
    if (!view_.shows() || ++frames_ % kFramesBetweenLooks != 0) return;
    const Instant now = nic::now();
    if (!view_.due(now)) return;
    Report report{.command = "replay", .profile = {}};
    runner.report(report);
    view_.show(now, live_.model(report));
  }
  void finish(const ReplayRunner& runner, const Report& report) {
    if (history_ != nullptr) {
      sample(runner);
      for (const Change& change : runner.changes().changes())
        history_->mark(change.since_first.value_or(Duration{}),
                       fmt::format("{} ({})", change_text(change), change.by));
    }
    if (view_.shows()) view_.finish(live_.model(report, true));
  }

 private:
  static constexpr std::uint64_t kFramesBetweenLooks = 256;

  void sample(const ReplayRunner& runner) {
    const CaptureForwarder& forwarder = runner.forwarder();
    add_sample(*history_, runner.elapsed(),
               forwarder.link(emulator::Direction::west_to_east).counters(),
               forwarder.link(emulator::Direction::east_to_west).counters());
  }

  report::LiveView view_;
  LiveReport live_;
  report::RateHistory* history_;
  std::uint64_t frames_ = 0;
};

/// The report, and the error in a capture after the frames that could be read.
struct ReplayOutcome {
  Report report;
  std::optional<Error> damage;
};

constexpr std::uint64_t kLeastRoom = 1024, kBeyondAllMemory = std::uint64_t{1} << 40;  // frames

/// Passes the frames of `source` to `runner`. Ends early if `stopped`; the frames until then still
/// leave.
Result<void> feed(ReplayRunner& runner, ReplaySource& source, ReplayView& view,
                  const std::atomic<bool>& stopped) {
  std::uint64_t offset = 0;
  try {
    while (!stopped.load(std::memory_order_relaxed)) {
      const auto frame = source.next();
      if (!frame) return std::unexpected(frame.error());
      if (!*frame || runner.failed()) return {};
      offset = (*frame)->record.offset;
      if (auto replayed = runner.replay(**frame); !replayed) return replayed;
      view.tick(runner);
    }
  } catch (const std::bad_alloc&) {
    return fail(fmt::format("offset {} of the input: not enough memory for its record", offset),
                ExitCode::environment);
  }
  return {};
}

/// Checks that no output is another file of the same replay. Call it before a file is opened.
Result<void> check_files(const ReplayConfig& config, const std::string& profile,
                         const NamedFile& junit, const NamedFile& page) {
  if (config.capture)
    if (auto named = RecordingFile::check_name(*config.capture); !named) return named;
  return check_outputs(
      {{"PROFILE", profile}, {"IN", config.input.in}, {"--back", config.input.back.value_or("")}},
      {{"OUT", config.out, true},
       {"--ledger", config.ledger.value_or("")},
       {"--pcap", config.capture.value_or(""), true},
       junit,
       page});
}

/// Returns the largest number of copies of one frame.
std::uint64_t most_copies(const config::ImpairProfile& profile) {
  std::uint64_t copies = profile.scenario.empty() ? 0 : emulator::Duplicate::kMostCopies;
  for (const auto& rule : profile.rules)
    if (rule.duplicate) copies = emulator::Duplicate::kMostCopies;
  return copies + profile.events.size();
}

/// Returns the link configuration. Its capacity is what the profile needs, or less if there are too
/// few frames to fill it: the same frames are refused for lack of room. Error: not enough memory.
Result<emulator::LinkConfig> link_for(const config::ImpairProfile& profile,
                                      const ReplaySource& source) {
  emulator::LinkConfig link = link_config(profile);
  if (const auto frames = source.most_frames())
    link.capacity = std::min<std::size_t>(
        link.capacity, std::max(kLeastRoom, *frames * (1 + most_copies(profile))));
  const std::uint64_t available = available_memory();
  if (link.capacity > kBeyondAllMemory) return not_enough_memory(profile, available);
  const std::uint64_t needed =
      source.directions().size() * emulator::ReleaseQueue<StoredFrame*, StoreAccess>::bytes_needed(
                                       emulator::Pipeline::kMostFifos, link.capacity);
  if (available == 0 || needed <= available) return link;
  return not_enough_memory(profile, available);
}

Result<std::unique_ptr<LedgerFile>> open_ledger(const config::ImpairProfile& profile,
                                                const ReplayConfig& config) {
  if (!config.ledger) return nullptr;
  return LedgerFile::create(*config.ledger, ledger_format_for(*config.ledger),
                            rule_names_of(profile), 0);
}

Result<std::unique_ptr<RecordingFile>> open_recording(
    const config::ImpairProfile& profile, const ReplayConfig& config,
    const std::vector<capture::Interface>& interfaces) {
  if (!config.capture) return nullptr;
  const int type = interfaces.front().link_type;
  const auto other = [&](const capture::Interface& each) { return each.link_type != type; };
  if (std::ranges::any_of(interfaces, other))
    return fail(
        fmt::format("{}: frames of several link types don't go into --pcap", config.input.in));
  return RecordingFile::create(*config.capture, rule_names_of(profile), 0,
                               {.rotation = config.rotation}, type);
}

/// Passes a capture, or one capture per direction, through a profile in virtual time. Each frame
/// arrives at its time stamp, and leaves exactly at its due time. The same input, profile and seed
/// give the same bytes. A time stamp before that of the previous frame counts as equal to it. The
/// scenario uses the time stamps: its time 0 is that of the first frame.
Result<ReplayOutcome> replay(const LiveProfile::Version& version, const ReplayConfig& config) {
  const config::ImpairProfile& profile = version.profile;
  auto source = ReplaySource::open(config.input);
  if (!source) return std::unexpected(source.error());
  const auto link = link_for(profile, *source);
  if (!link) return std::unexpected(link.error());
  auto ledger = open_ledger(profile, config);
  if (!ledger) return std::unexpected(ledger.error());
  auto recording = open_recording(profile, config, source->interfaces());
  if (!recording) return std::unexpected(recording.error());
  auto writer = capture::Writer::create(config.out, capture::format_for(config.out),
                                        source->interfaces(), OutputFile::Mode::whole);
  if (!writer) return std::unexpected(writer.error());
  const auto runner = std::make_unique<ReplayRunner>(
      version, *link, source->directions(), ledger->get(), recording->get(), std::move(*writer));
  const std::atomic<bool>& stopped = stop_on_signals();
  ReplayView view(config.live, config.history);
  if (auto fed = feed(*runner, *source, view, stopped); !fed) return std::unexpected(fed.error());
  if (auto finished = runner->finish(); !finished) return std::unexpected(finished.error());

  ReplayOutcome outcome{
      .report = {.command = "replay", .profile = profile.name, .seed = profile.seed},
      .damage = source->damage()};
  runner->report(outcome.report);
  outcome.report.stopped = stopped;
  outcome.report.not_captured = source->missing();
  if (*ledger) {
    report_at_end((*ledger)->close());
    outcome.report.ledger =
        LedgerReport{*config.ledger, (*ledger)->records(), 0, (*ledger)->lost()};
  }
  if (*recording) {
    report_at_end((*recording)->close());
    outcome.report.captures.push_back((*recording)->report(*config.capture));
  }
  view.finish(*runner, outcome.report);
  return outcome;
}

struct ReplayOptions {
  ProfileInput source;
  ReplayConfig replay;
  std::string direction = "west-to-east";
  std::optional<std::uint64_t> seed;
  OutputOptions output{.verdicts = app::Verdicts(kReplayQuestions)};
  bool dry_run = false;
};

/// Evaluates and prints the report, and prints errors. Returns the exit status.
ExitCode report_on(const ReplayOutcome& outcome, const report::RateHistory& history,
                   ReplayOptions& options) {
  app::Verdicts& verdicts = options.output.verdicts;
  app::HtmlReport& html = options.output.html;
  if (outcome.damage) report_at_end(std::unexpected(*outcome.damage));
  Judge judge = verdicts.judge();
  observe_run(judge, outcome.report);
  const std::string json = verdicts.judged(
      judge, options.output.json || html.wanted(),
      [&] { return report::json_line(kRunOutput, outcome.report); }, "roce-impair replay",
      &kRunOutput);
  if (html.wanted()) {
    html.add_report(json, kRunOutput, verdicts.last(), page_rows(outcome.report));
    for (report::Plot& plot : plots_of(outcome.report)) html.add_plot(std::move(plot));
    for (report::Plot& plot : history.plots()) html.add_plot(std::move(plot));
  }
  print_report(options.output.json ? json : verdicts.text() + to_text(outcome.report),
               options.replay.out == "-");
  if (outcome.report.not_captured)
    fmt::print(stderr,
               "{}: {} received frames are missing in it, by the numbers of the others: from the "
               "first of them, draws and frame counts differ from the run's\n",
               options.replay.input.in, outcome.report.not_captured);
  return verdicts.finish("roce-impair replay");
}

ExitCode run(ReplayOptions& options) {
  const auto text = options.source.read();
  if (!text) return print_error(text.error());
  const auto profile = LiveProfile::load(*text, options.seed, options.source.changes);
  if (!profile) return print_error(profile.error());
  options.source.say(profile->profile);
  app::Verdicts& verdicts = options.output.verdicts;
  verdicts.add(profile->profile.expect);
  if (auto checked = verdicts.check(kRunOutput); !checked) return print_error(checked.error());
  ReplayConfig config = options.replay;
  config.ledger = options.output.ledger;
  config.capture = options.output.capture;
  config.rotation = options.output.rotation;
  if (options.output.live) config.live = "roce-impair replay " + options.source.profile;
  if (options.direction == "east-to-west")
    config.input.direction = emulator::Direction::east_to_west;
  if (auto sound =
          check_files(config, options.source.profile, verdicts.junit(), options.output.html.file());
      !sound)
    return print_error(sound.error());
  if (options.dry_run)
    return print_plan({"replay",
                       profile->profile,
                       {.in = config.input.in,
                        .back = config.input.back.value_or(""),
                        .out = config.out,
                        .ledger = config.ledger.value_or(""),
                        .capture = config.capture.value_or("")}},
                      options.output.json);
  auto history = rate_history(std::chrono::microseconds(10));
  if (options.output.html.wanted()) config.history = &history;
  const auto outcome = replay(*profile, config);
  return outcome ? report_on(*outcome, history, options) : print_error(outcome.error());
}

}  // namespace

app::Command replay_command() {
  auto options = std::make_shared<ReplayOptions>();
  app::Command command{
      .name = "replay",
      .help = "Pass a capture through a profile in virtual time, exactly and repeatably",
      .examples =
          R"(roce-impair replay apn-380km in.pcap out.pcap --seed 7
roce-impair replay apn-380km west.pcap out.pcapng --back east.pcap
roce-impair replay apn-380km recorded.pcapng out.pcapng --both)",
      .check = [options](const app::Given&) { return check_output_options(options->output); },
      .run = [options] { return run(*options); },
  };
  app::Options& list = command.options;
  add_profile(list, options->source);
  list.add("IN", app::text(options->replay.input.in), "", "capture to read; - for standard input")
      .required();
  list.add("OUT", app::text(options->replay.out), "",
           "capture to write (.pcapng keeps interfaces); - for standard output")
      .required();
  list.add("--direction", app::choice(options->direction, {"west-to-east", "east-to-west"}),
           "DIRECTION", "direction of IN's frames");
  list.add("--back", app::text(options->replay.input.back), "IN2",
           "capture of the other side in the same time: both directions at once");
  list.add_flag("--both", options->replay.input.by_name,
                "both directions at once, from the ingress interfaces of a --pcap recording")
      .excludes("--direction")
      .excludes("--back");
  add_output_options(list, options->seed, options->output);
  add_dry_run(list, options->dry_run);
  return command;
}

}  // namespace lw::impair
