// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <ranges>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "app/rotation_options.h"
#include "core/output.h"
#include "core/quantity.h"
#include "impair/cli/commands.h"
#include "impair/cli/profile_input.h"
#include "impair/cli/run.h"
#include "impair/report/explanation.h"
#include "impair/report/report.h"
#include "impair/report/report_plots.h"
#include "impair/report/run_rows.h"
#include "nic/eal.h"
#include "report/figures/json.h"
#include "report/live_view.h"

namespace lw::impair {
namespace {

/// Option values as typed. They are interpreted when the command runs.
struct RunOptions {
  ProfileInput source;
  std::string west, east;
  std::optional<Duration> duration, until_idle;
  Duration wait = std::chrono::seconds(30);
  std::optional<std::uint64_t> seed;
  std::string idle = "adaptive";
  std::vector<int> pinned;
  OutputOptions output;
  bool dry_run = false;
  std::optional<std::string> web_files;
  RunConfig run;
};

/// Reads a time above 0: "10s", "500ms"; a number without a unit is in seconds.
Parsed<Duration> read_time(std::string_view text) {
  const auto time = app::read_time(text);
  if (time && time->count() == 0)
    return std::unexpected("expected a time above 0, found " + std::string(text));
  return time;
}

/// Reads CPU numbers: "2" or "2,3".
Parsed<std::vector<int>> read_cpus(std::string_view text) {
  std::vector<int> cpus;
  for (const auto piece : std::views::split(text, ',')) {
    const std::string_view part(piece);
    int cpu = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), cpu);
    if (error != std::errc() || end != part.data() + part.size() || cpu < 0)
      return std::unexpected(fmt::format("expected CPU numbers, found {}", text));
    cpus.push_back(cpu);
  }
  return cpus;
}

/// Error: this process may not use the second core. DPDK checks the first one.
Result<void> check_second_core(const RunConfig& config) {
  const auto allowed = nic::allowed_cpus();
  if (!config.second_core || std::ranges::find(allowed, *config.second_core) != allowed.end())
    return {};
  return fail(fmt::format("core {} is not one that this process may use; these are: {}",
                          *config.second_core, fmt::join(allowed, ", ")),
              ExitCode::environment);
}

Result<RunConfig> run_config(const RunOptions& options) {
  RunConfig config = options.run;
  auto west = nic::parse_port_spec(options.west);
  if (!west) return std::unexpected(west.error());
  auto east = nic::parse_port_spec(options.east);
  if (!east) return std::unexpected(east.error());
  config.west = std::move(*west);
  config.east = std::move(*east);
  config.idle = idle_mode_of(options.idle);
  if (!options.pinned.empty() && options.pinned.size() != config.cores)
    return fail(fmt::format("--core: expected {} for --cores {}, found {}",
                            config.cores == 1 ? "one CPU" : "two CPUs", config.cores,
                            options.pinned.size()));
  if (!options.pinned.empty()) config.core = options.pinned.front();
  if (options.pinned.size() == 2) config.second_core = options.pinned.back();
  if (auto allowed = check_second_core(config); !allowed) return std::unexpected(allowed.error());
  if (options.web_files) {
    auto files = config::ClientFiles::below(*options.web_files);
    if (!files) return fail("--web-files: " + files.error().message);
    config.web_files = std::move(*files);
  }
  config.ledger = options.output.ledger;
  config.capture = options.output.capture;
  config.rotation = options.output.rotation;
  config.duration = options.duration;
  config.until_idle = options.until_idle;
  config.wait = options.wait;
  if (options.output.live) config.live = "roce-impair run " + options.source.title();
  return config;
}

/// Error: an output is also an input or another output, or both ports are the same.
Result<void> check_ends(const RunOptions& options, const RunConfig& config) {
  std::vector<NamedFile> inputs = {{"PROFILE", options.source.profile},
                                   {"--web-token-file", config.web.token_file.value_or("")}};
  std::vector<NamedFile> outputs = {{"--ledger", config.ledger.value_or("")},
                                    {"--pcap", config.capture.value_or(""), true},
                                    {"--ready-file", config.ready_file.value_or("")},
                                    {"--save", options.source.saved.value_or("")},
                                    options.output.verdicts.junit(),
                                    options.output.html.file()};
  nic::add_files(options.west, inputs, outputs);
  nic::add_files(options.east, inputs, outputs);
  if (auto apart = check_outputs(inputs, outputs); !apart) return apart;
  return nic::check_distinct(std::vector{config.west, config.east});
}

/// The expectations that every report so far can be judged by.
std::vector<Expectation> of_machine(std::vector<Expectation> all) {
  constexpr std::array<std::string_view, 4> kNames = {"machine", "stall", "late", "step_lateness"};
  std::erase_if(all, [&](const Expectation& each) {
    return std::ranges::find(kNames, each.name) == kNames.end();
  });
  return all;
}

/// Prints the plan of the run, for --dry-run.
ExitCode plan(const RunOptions& options, const config::ImpairProfile& profile,
              const RunConfig& config) {
  const auto limit = config.duration ? format_set_duration(*config.duration) : std::string();
  return print_plan({"run",
                     profile,
                     {.west = options.west,
                      .east = options.east,
                      .duration = limit,
                      .ledger = config.ledger.value_or(""),
                      .capture = config.capture.value_or(""),
                      .control = config.control.value_or(""),
                      .metrics = config.metrics.value_or("")}},
                    options.output.json);
}

void add_to_page(RunOptions& options, const Report& report, const report::RateHistory& history,
                 const std::string& json) {
  app::HtmlReport& html = options.output.html;
  if (!html.wanted()) return;
  html.add_report(json, kRunOutput, options.output.verdicts.last(), page_rows(report));
  for (report::Plot& plot : plots_of(report)) html.add_plot(std::move(plot));
  for (report::Plot& plot : history.plots()) html.add_plot(std::move(plot));
  html.add_port("--west", options.west);
  html.add_port("--east", options.east);
  html.add_fact("While nothing is due (--idle)", options.idle);
}

ExitCode execute(RunOptions& options) {
  const auto text = options.source.read();
  if (!text) return print_error(text.error());
  auto version = LiveProfile::load(*text, options.seed, options.source.changes);
  if (!version) return print_error(version.error());
  options.source.say(version->profile);
  app::Verdicts& verdicts = options.output.verdicts;
  verdicts.add(version->profile.expect);
  if (auto checked = verdicts.check(kRunOutput); !checked) return print_error(checked.error());
  auto config = run_config(options);
  if (!config) return print_error(config.error());
  if (const auto apart = check_ends(options, *config); !apart) return print_error(apart.error());
  if (options.dry_run) return plan(options, version->profile, *config);
  config->expected = of_machine(verdicts.named());
  if (auto saved = options.source.save(*text); !saved) return print_error(saved.error());
  auto history = rate_history(std::chrono::milliseconds(100));
  if (options.output.html.wanted()) config->history = &history;
  const auto report = run(*version, *config);
  if (!report) return print_error(report.error());
  Judge judge = verdicts.judge();
  observe_run(judge, *report);
  const std::string json = verdicts.judged(
      judge, options.output.json || options.output.html.wanted(),
      [&] { return report::json_line(kRunOutput, *report); }, "roce-impair run", &kRunOutput);
  add_to_page(options, *report, history, json);
  print_report(options.output.json ? json : verdicts.text() + to_text(*report));
  return verdicts.finish("roce-impair run");
}

void add_ports(app::Options& list, RunOptions& options) {
  constexpr const char* kForms =
      "west port: eth1 (our packet socket; eth1,qdisc where tcpdump shall see sent frames; "
      "af_packet:eth1 and af_xdp:eth1 are DPDK's), 0000:3b:00.0, memif:PATH[,server], "
      "vhost:PATH[,client] (a guest of QEMU), pcap:IN[,OUT], null, or DPDK device arguments";
  add_profile_or_path(list, options.source);
  list.add("--west", app::text(options.west), "PORT", kForms).required();
  list.add("--east", app::text(options.east), "PORT", "east port, in the same forms").required();
}

void add_limits(app::Options& list, RunOptions& options) {
  list.add("--duration", app::parsed(read_time, options.duration), "TIME",
           "stop after this time: 10s, 500ms");
  list.add("--until-idle", app::parsed(read_time, options.until_idle), "TIME",
           "stop when no frame was received for this time");
  list.add("--wait-link", app::parsed(read_time, options.wait), "TIME",
           "longest wait for both links to come up")
      .defaults_to("30s");
  using config::OnLinkLoss;
  list.add("--on-link-loss",
           app::choice(options.run.on_link_loss,
                       {{"stop", OnLinkLoss::stop}, {"hold", OnLinkLoss::hold}}),
           "WHAT",
           "when a port loses its link or its interface disappears: stop (exit code 1), or hold "
           "(drop and count its frames until it is back)")
      .defaults_to("the profile's on_link_loss, or stop");
}

void add_outputs(app::Options& list, RunOptions& options) {
  add_output_options(list, options.seed, options.output);
  list.add("--pcap-bytes", app::parsed(parse_bytes, options.run.capture_bytes), "SIZE",
           "bytes of each frame in the recording: 128, 1KiB")
      .defaults_to("all");
  list.add("--ready-file", app::text(options.run.ready_file), "FILE",
           "file to create once both links are up");
}

void add_services(app::Options& list, RunOptions& options) {
  list.add("--control", app::text(options.run.control), "SOCKET",
           "Unix socket for `roce-impair ctl`");
  list.add(
      "--metrics", app::text(options.run.metrics), "ADDRESS:PORT",
      "serve Prometheus text at http://ADDRESS:PORT/metrics, for example 127.0.0.1:9091; a name "
      "of this machine instead of its address is one by which scrapers may ask");
  web::add_options(list, options.run.web);
  list.add_flag("--web-read-only", options.run.web_read_only,
                "the live page shows the run and changes nothing");
  list.add("--web-files", app::text(options.web_files), "DIR",
           "folder of the files that requests of the live page may name: profiles, traces, ...")
      .defaults_to("none");
  list.add_flag("--dpdk-telemetry", options.run.telemetry,
                "serve /impair/stats and /impair/rules in DPDK's telemetry");
  list.add("--file-prefix", app::text(options.run.file_prefix), "NAME",
           "prefix of DPDK's runtime directory; dpdk-telemetry.py looks for rte")
      .defaults_to("unique");
}

void add_machine(app::Options& list, RunOptions& options) {
  list.add(
      "--idle", app::choice(options.idle, {kIdleModes.begin(), kIdleModes.end()}), "HOW",
      "while nothing is due: adaptive (sleep up to 50 us), yield (the core, between two polls) or "
      "spin (poll without a pause)");
  list.add("--cores", app::number(options.run.cores, unsigned{1}, unsigned{2}), "N",
           "1: both directions on one core; 2: one core per direction");
  list.add("--core", app::parsed(read_cpus, options.pinned), "CPU",
           "CPU to pin to; with --cores 2, two: 2,3")
      .defaults_to("none");
  list.add_flag("--verbose", options.run.verbose, "show DPDK's log");
}

}  // namespace

void add_dry_run(app::Options& list, bool& dry_run) {
  list.add_flag("--dry-run", dry_run,
                "read and check everything, print what would be done, and end: no port or output "
                "is opened");
}

ExitCode print_plan(const DryRun& plan, bool json) {
  std::string text = fmt::format("dry run of {}: nothing was opened\n", plan.command);
  const report::Json uses = report::json_of(plan.uses);
  for (const auto& [what, name] : uses.items())
    text += fmt::format("  {:<12}{}\n", what, name.get<std::string>());
  print_out(json ? report::json_line(kDryRunOutput, plan)
                 : text + "\n" + explanation_text(plan.profile));
  return ExitCode::done;
}

namespace {

/// The explanation as `explain` prints it, with its own schema and version.
const FigureTable& printed_explanation() {
  using config::ImpairProfile;
  using Row = FigureOf<ImpairProfile>;
  static constexpr Figure kRows[] = {
      Row::of<[](const ImpairProfile&) {
        return std::string_view("longwire.profile_explanation");
      }>("schema", "Name of this schema."),
      Row::of<[](const ImpairProfile&) { return std::uint64_t{kExplanationOutput.version}; }>(
          "version", "Version of this schema: increases when a key goes or changes its meaning."),
      Row::with_table<std::identity{}, explanation_figures>()};
  static constexpr FigureTable kTable{"A profile in words.", kRows};
  return kTable;
}

}  // namespace

const FigureTable& PlannedUses::figures() {
  using Row = FigureOf<PlannedUses>;
  static constexpr Figure kRows[] = {
      Row::of<&PlannedUses::west>("west", "West port.").if_any(),
      Row::of<&PlannedUses::east>("east", "East port.").if_any(),
      Row::of<&PlannedUses::duration>("duration", "Time limit.").if_any(),
      Row::of<&PlannedUses::in>("in", "Capture to read.").if_any(),
      Row::of<&PlannedUses::back>("back", "Capture of the other side.").if_any(),
      Row::of<&PlannedUses::out>("out", "Capture to write.").if_any(),
      Row::of<&PlannedUses::ledger>("ledger", "Ledger file.").if_any(),
      Row::of<&PlannedUses::capture>("capture", "Recording.").if_any(),
      Row::of<&PlannedUses::control>("control", "Control socket.").if_any(),
      Row::of<&PlannedUses::metrics>("metrics", "Address of the metrics.").if_any()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& DryRun::figures() {
  using Row = FigureOf<DryRun>;
  static constexpr Figure kRows[] = {
      Row::of<&DryRun::command>("command", "Command: run or replay."),
      Row::rows_of<&DryRun::uses>(),
      Row::with_table<[](const DryRun& plan) -> const auto& { return plan.profile; },
                      printed_explanation>("explanation", "The profile in words.")};
  static constexpr FigureTable kTable{"What a run would open, and its profile.", kRows};
  return kTable;
}

void add_output_options(app::Options& list, std::optional<std::uint64_t>& seed,
                        OutputOptions& output) {
  list.add("--seed", app::number(seed), "N", "random seed, instead of the profile's");
  list.add("--ledger", app::text(output.ledger), "FILE",
           "ledger of what happened to each frame: JSON Lines, or FILE.lwl, compact (see ledger)");
  list.add("--pcap", app::text(output.capture), "FILE.pcapng",
           "recording of ingress and egress frames, with the stages that acted on them; "
           "FILE.pcapng.zst is compressed");
  app::add_rotation_options(list, output.rotation, "--pcap");
  list.add_flag("--json", output.json, "report as one JSON object");
  list.add_flag("--live", output.live, report::kLiveHelp);
  output.verdicts.add_options(list);
  output.verdicts.add_strict_option(list);
  output.html.add_option(list);
}

Result<void> check_output_options(const OutputOptions& output) {
  return app::check_rotation(output.rotation, output.capture.has_value(), "--pcap");
}

app::Command run_command() {
  auto options = std::make_shared<RunOptions>();
  app::Command command{
      .name = "run",
      .help = "Bridge two ports: impair the frames that a profile matches, forward the rest",
      .examples = R"(roce-impair run rocev2-only --west eth1 --east eth2
roce-impair run --distance 380km --loss 0.1% --west eth1 --east eth2
roce-impair run apn-380km --west memif:/tmp/w.sock,server \
    --east memif:/tmp/e.sock,server --duration 60 --ledger ledger.jsonl --json)",
      .check = [options](const app::Given& given) -> Result<void> {
        if (auto sound = check_output_options(options->output); !sound) return sound;
        return check_input(options->source, given);
      },
      .run = [options] { return execute(*options); },
  };
  add_ports(command.options, *options);
  add_limits(command.options, *options);
  add_outputs(command.options, *options);
  add_services(command.options, *options);
  add_machine(command.options, *options);
  add_dry_run(command.options, options->dry_run);
  return command;
}

}  // namespace lw::impair
