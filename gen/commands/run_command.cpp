// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "app/profile_note.h"
#include "app/rotation_options.h"
#include "app/stop_signal.h"
#include "config/toml/profile_search.h"
#include "core/output.h"
#include "core/quantity.h"
#include "gen/app/report_link.h"
#include "gen/app/run_profile.h"
#include "gen/commands/commands.h"
#include "gen/commands/measure_options.h"
#include "gen/commands/outputs.h"
#include "gen/commands/run_ranks.h"
#include "gen/report/preview.h"
#include "gen/report/run_plots.h"
#include "gen/report/run_report.h"
#include "gen/report/run_rows.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

constexpr const char* kRunExamples =
    R"(roce-gen run ipv4-rc-send --pcap out.pcap
roce-gen run demo --port memif:/tmp/lw.sock,server --pcap sent.pcapng
roce-gen run ipv6-ud-send --port eth1 --duration 10s --json
roce-gen run demo --port eth1 --receive eth2 --series run.csv
roce-gen run writes.toml --port eth1 --peer 192.0.2.2:18515 --token TOKEN
mpirun -n 9 --hostfile hosts roce-gen run incast.toml
echo '[[flow]]' | roce-gen run - --pcap - | roce-dissect list -)";

constexpr const char* kRunNotes =
    R"(PORT: a Linux interface (eth1; eth1,qdisc where tcpdump shall see sent frames; af_packet:eth1
and af_xdp:eth1 for DPDK's drivers), a PCI address (0000:3b:00.0), memif:PATH[,server],
vhost:PATH[,client] (a guest of QEMU), pcap:IN[,OUT], null, or raw DPDK device arguments. Flows are
spread over several ports in turn.)";

/// True if the device's side read signatures.
bool read_signatures(const handover::Report& device) {
  return device.signatures != handover::SignatureCounts{};
}

std::string text_of(const handover::Report& device) {
  std::string text =
      device.counted
          ? fmt::format("device: {} messages, {}, {} completions in error\n", device.messages,
                        format_bytes(static_cast<double>(device.bytes)), device.errors)
          : fmt::format(
                "device: {} completions in error; it counts packets, not messages, of this "
                "operation\n",
                device.errors);
  const handover::SignatureCounts& read = device.signatures;
  if (read_signatures(device))
    text += fmt::format(
        "  signatures of {} frames: {} lost, {} duplicated, {} out of order; {} without one\n",
        read.frames, read.lost, read.duplicated, read.out_of_order, read.unsigned_frames);
  if (device.stats.checked > 0)
    text += fmt::format("  content of {} messages: {} wrong\n", device.stats.checked,
                        device.stats.wrong);
  for (const auto& [name, change] : device.counters)
    text += fmt::format("  {:<30}{}\n", name, change);
  return text;
}

template <auto member_of>
std::optional<std::uint64_t> if_counted(const handover::Report& device) {
  if (!device.counted) return std::nullopt;
  return device.*member_of;
}

template <auto member_of>
std::optional<std::uint64_t> if_signed(const handover::Report& device) {
  if (!read_signatures(device)) return std::nullopt;
  return device.stats.*member_of;
}

const FigureTable& device_counts() {
  using handover::Report;
  using Row = FigureOf<Report>;
  static constexpr Figure kRows[] = {
      Row::of<&Report::counted>("counted", handover::meaning::kCounted),
      Row::of<&Report::errors>("errors", handover::meaning::kErrors),
      Row::of<&Report::failure>("failure", handover::meaning::kFailure),
      Row::of<&Report::counters>("counters", handover::meaning::kCounters),
      Row::of<if_counted<&Report::messages>>("messages", handover::meaning::kMessages),
      Row::of<if_counted<&Report::bytes>>("bytes", handover::meaning::kBytes, Unit::bytes),
      Row::of<if_signed<&ServerStats::checked>>("checked", meaning::kChecked),
      Row::of<if_signed<&ServerStats::wrong>>("wrong", meaning::kWrong),
      Row::of<[](const Report& device) {
        return read_signatures(device) ? &device.signatures : nullptr;
      }>("signatures", handover::meaning::kSignatures)};
  static constexpr FigureTable kTable{"Counts of roce-endpoint serve.", kRows};
  return kTable;
}

/// What the device's side says of received frames.
void observe_device(Judge& judge, const handover::Report& device) {
  const bool failed = !device.failure.empty();
  Observation observed{.name = "device",
                       .value = static_cast<double>(device.stats.wrong + (failed ? 1 : 0)),
                       .text = "the device's side took all messages",
                       .count = device.messages};
  if (failed) observed.text = "the device's side failed: " + device.failure;
  if (device.stats.wrong > 0)
    observed.text = fmt::format("{} messages arrived with other bytes than were sent",
                                format_count(device.stats.wrong));
  judge.add(observed);
}

/// Prints the report of the device's side. The run's verdict includes it.
void print_device(const handover::Report& device, RunOptions& options) {
  const std::string json = report::json_line(kSendDeviceOutput, device);
  options.html.add_report(json, kSendDeviceOutput, {});
  print_report(options.json ? json : text_of(device), options.pcap == "-");
}

/// Prints the frames that the run would send. Opens no port or file.
ExitCode print_plan(const config::FlowProfile& profile, const RunOptions& options) {
  const Preview preview = preview_of(profile, 0);
  if (options.json) {
    print_out(report::json_line(kFlowCheckOutput, preview));
    return ExitCode::done;
  }
  std::string text = "dry run: nothing was opened\n";
  for (const std::string& port : options.ports) text += fmt::format("  port        {}\n", port);
  for (const std::string& port : options.receive) text += fmt::format("  receive     {}\n", port);
  if (!options.pcap.empty()) text += fmt::format("  pcap        {}\n", options.pcap);
  print_out(text + to_text(preview));
  return ExitCode::done;
}

void add_to_page(RunOptions& options, const config::FlowProfile& profile, const RunSummary& summary,
                 const Measurement* received, const std::string& json) {
  app::HtmlReport& html = options.html;
  if (!html.wanted()) return;
  html.add_report(json, kSendOutput, options.verdicts.last(), page_rows(summary));
  for (report::Plot& plot : sent_plots(summary.sent(), profile)) html.add_plot(std::move(plot));
  if (received != nullptr)
    for (report::Plot& plot : received_plots(*received, names_in(profile)))
      html.add_plot(std::move(plot));
  if (options.history)
    for (report::Plot& plot : options.history->plots()) html.add_plot(std::move(plot));
  for (const std::string& port : options.ports) html.add_port("--port", port);
  for (const std::string& port : options.receive) html.add_port("--receive", port);
}

/// Error: a profile for several processes, started as one.
Result<void> check_alone(const config::FlowProfile& profile, const RunOptions& options) {
  if (profile.hosts.empty() || !options.pcap.empty() || options.dry_run) return {};
  return fail(
      fmt::format("{}: [[host]]: expected a run of several processes, found one: "
                  "mpirun -n {} roce-gen run {}",
                  profile.hosts.front().at, profile.hosts.size(), options.profile));
}

ExitCode run_alone(RunOptions& options) {
  auto profile = config::load_flow_profile(options.profile, options.changes);
  if (!profile) return print_error(profile.error());
  fit_length(*profile, options.limits);
  app::say_profile(options.profile, {config::kFlowProfiles}, config::words_of(*profile));
  if (auto alone = check_alone(*profile, options); !alone) return print_error(alone.error());
  options.verdicts.add(profile->expect, options.receive.empty() ? config::kReceiverQuestions
                                                                : std::span<const Question>{});
  if (auto checked = options.verdicts.check(kSendOutput); !checked)
    return print_error(checked.error());
  if (options.dry_run) return print_plan(*profile, options);
  std::optional<handover::Report> device;
  const AskedFrames asked(*profile);
  Measurement measurement(options.choices.measure);
  measurement.compare_with(asked);
  Measurement* receives = options.receive.empty() ? nullptr : &measurement;
  if (options.html.wanted() && !options.ports.empty()) {
    options.history = rate_history(true, receives != nullptr);
    options.choices.progress.history = &*options.history;
  }
  auto report = options.ports.empty() ? run_to_file(*profile, options)
                                      : run_to_ports(*profile, options, receives, device);
  if (!report) return print_error(report.error());
  report->profile = profile->name;
  report->seed = options.seed.value_or(profile->seed);
  if (!options.choices.histogram.empty())
    report_at_end(
        write_file(options.choices.histogram, histogram_csv(measurement, names_in(*profile))));
  const RunSummary summary(*profile, *report, receives);
  Judge judge = options.verdicts.judge();
  summary.observe(judge);
  if (device) observe_device(judge, *device);
  std::string json = options.verdicts.judged(
      judge, options.json || options.html.wanted() || !options.report_to.empty(),
      [&] { return report::json_line(kSendOutput, summary); }, "roce-gen run", &kSendOutput);
  if (!options.report_to.empty()) report_at_end(deliver_report(options.report_to, json));
  options.verdicts.update_files(json);
  add_to_page(options, *profile, summary, receives, json);
  print_report(options.json ? json : options.verdicts.text() + summary.text(), options.pcap == "-");
  if (device) print_device(*device, options);
  return options.verdicts.finish("roce-gen run");
}

ExitCode run(RunOptions& options) {
  auto ranks = Ranks::join();
  if (!ranks) return print_error(ranks.error());
  if (ranks->size() > 1) return run_as_rank(options, *ranks);
  if (options.pcap.empty() && options.ports.empty())
    return print_error({"--pcap OUT or --port PORT is required in a run of one rank"});
  return run_alone(options);
}

Result<void> check_run_usage(const RunOptions& options) {
  const bool common = Ranks::expected();  // then [[host]] may name the ports
  if (options.pcap.empty() && options.ports.empty() && !common)
    return fail("--pcap OUT or --port PORT is required");
  if (!options.receive.empty() && options.ports.empty() && !common)
    return fail("--port PORT beside --receive is required");
  if (options.peer.empty() != options.token.empty())
    return fail("--peer and --token: `roce-endpoint serve` prints both");
  if (!options.peer.empty() && options.ports.empty())
    return fail("--peer: --port PORT is needed too: a file reaches no device");
  if (options.choices.progress.web.address && options.ports.empty())
    return fail("--web: --port PORT is needed too: a run into a file is in virtual time");
  if (options.cores > 1 && (options.ports.empty() || !options.pcap.empty()))
    return fail("--cores: more than 1 needs --port PORT and no --pcap");
  if (options.limits.catch_up && options.ports.empty())
    return fail("--catch-up: --port PORT is needed too: a file has no stalls");
  return app::check_rotation(options.rotation, !options.pcap.empty(), "--pcap");
}

void add_run_options(app::Options& list, RunOptions& options) {
  list.add("PROFILE", app::profile(options.profile, {config::kFlowProfiles}), "",
           "flow profile; - for standard input")
      .required();
  add_set_option(list, options.changes);
  list.add_flag("--dry-run", options.dry_run,
                "read and check the profile, print what would be sent, and end: no port or file is "
                "opened");
  add_pcap_option(list, options.pcap);
  app::add_rotation_options(list, options.rotation, "--pcap");
  list.add("--port", app::texts(options.ports), "PORT", "port to send to, in real time");
  list.add("--receive", app::texts(options.receive), "PORT",
           "port to measure what arrives; may also be a --port");
  list.add("--wait", app::parsed(app::read_time, options.timeout), "TIME",
           "longest wait for missing frames after the last one received")
      .defaults_to("500ms");
  add_link_option(list, options.link_timeout, "30s");
  add_clock_option(list, options.clock);
  add_measure_options(list, options.choices);
  add_progress_options(list, options.choices.progress);
  add_limit_options(list, options.limits);
  list.add("--catch-up", app::parsed(app::read_time, options.limits.catch_up), "TIME",
           "put off what is later than this after a stall, instead of sending it in a burst")
      .defaults_to("no limit");
  list.add("--seed", app::number(options.seed), "S", "random seed, instead of the profile's");
  list.add("--cores", app::number(options.cores, std::uint16_t{1}, std::uint16_t{128}), "N",
           "number of sending cores, each with its flows and its own queue on each port");
  list.add("--peer", app::text(options.peer), "HOST:PORT",
           "send to the QPs of an RDMA device, which `roce-endpoint serve` there hands over: sets "
           "the flows' destinations");
  list.add("--token", app::text(options.token), "T", "token of that roce-endpoint");
  list.add("--report-to", app::text(options.report_to), "FILE|unix:PATH|tcp:HOST:PORT",
           "also give the JSON report to a receiver, which reads it with receive --sent");
  list.add("--start-skew", app::parsed(app::read_time, options.most_skew), "TIME",
           "under mpirun: largest time between the starts of the ranks, with the error of their "
           "clocks")
      .defaults_to("1ms");
  list.add("--rank-reports", app::text(options.rank_reports), "DIR",
           "under mpirun: folder in which each rank writes its own report, RANK.json");
  options.verdicts.add_options(list);
  options.verdicts.add_strict_option(list);
  options.html.add_option(list);
  add_report_options(list, options.json, options.verbose);
}

}  // namespace

const FigureTable& send_device_figures() {
  using Row = FigureOf<handover::Report>;
  static constexpr Figure kRows[] = {
      Row::with_table<std::identity{}, device_counts>("device", "Counts of roce-endpoint serve.")};
  static constexpr FigureTable kTable{"What the device's side has received.", kRows};
  return kTable;
}

app::Command run_command() {
  auto options = std::make_shared<RunOptions>();
  app::Command command{
      .name = "run",
      .help = "Send the flows of a profile to ports or into a file",
      .examples = kRunExamples,
      .notes = kRunNotes,
      .check = [options](const app::Given&) { return check_run_usage(*options); },
      .run =
          [options] {
            options->limits.stop = &stop_on_signals();
            options->choices.progress.title = "roce-gen run " + options->profile;
            options->choices.progress.knows_sender = true;
            return run(*options);
          },
  };
  add_run_options(command.options, *options);
  return command;
}

}  // namespace lw::gen
