// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/html_report.h"
#include "app/profile_note.h"
#include "app/rotation_options.h"
#include "app/stop_signal.h"
#include "app/verdicts.h"
#include "config/flow/questions.h"
#include "config/toml/profile_search.h"
#include "core/output.h"
#include "gen/app/receiver.h"
#include "gen/app/report_link.h"
#include "gen/arp/neighbor_table.h"
#include "gen/commands/commands.h"
#include "gen/commands/measure_options.h"
#include "gen/perf/options/endpoint_options.h"
#include "gen/report/run_plots.h"
#include "gen/report/run_rows.h"
#include "gen/report/run_verdict.h"
#include "gen/report/sent_counts.h"
#include "gen/tx/ports.h"

namespace lw::gen {
namespace {

constexpr const char* kReceiveExamples =
    R"(roce-gen receive --port memif:/tmp/lw.sock,server --until-idle 2
roce-gen receive --port eth1 --port eth2 --duration 10s --check-icrc 64 --json
roce-gen receive --port eth1 --profile demo --histogram latency.csv
roce-gen receive --port eth1 --until-idle 2s --profile p.toml --sent tcp:0.0.0.0:7000
roce-gen receive --port pcap:arrived.pcap --expect 'flows.*.lost == 0')";

constexpr const char* kReceiveNotes =
    R"(Prints "ready" on stderr once the links of all ports are up: the moment to start the sender.
A memif port has a link when its peer is connected; until then "waiting for the link of port ...".)";

/// Long enough for a person to start the other side. A script sets --duration.
constexpr Duration kReceiveLinkTimeout = std::chrono::hours(1);

/// Longest time from the end of the reception to the sender's report.
constexpr Duration kReportTimeout = std::chrono::seconds(10);

struct ReceiveOptions {
  std::vector<std::string> ports;
  std::string pcap, profile;
  std::uint32_t capture_bytes = 0;  // of each frame in `pcap`; 0: all
  Rotation rotation = {};           // of `pcap`
  std::string sent;                 // file or socket of the sender's report; empty: none
  std::vector<wire::IpAddress> senders;
  std::vector<wire::IpAddress> answers;
  std::optional<wire::MacAddress> mac;
  Limits limits;
  std::optional<Duration> until_idle, link_timeout;
  nic::ClockKind clock = nic::ClockKind::steady;
  MeasureChoices choices;
  app::Verdicts verdicts{config::kReceiveQuestions};
  app::HtmlReport html;
  std::optional<report::RateHistory> history;  // of --html
  bool json = false, verbose = false;
};

Result<std::optional<capture::Writer>> open_copy(const ReceiveOptions& options) {
  if (options.pcap.empty()) return std::nullopt;
  capture::Interface interface;
  if (options.capture_bytes > 0) interface.snap_length = options.capture_bytes;
  auto writer = capture::Writer::create(options.pcap, {.format = capture::format_for(options.pcap),
                                                       .interfaces = {interface},
                                                       .rotation = options.rotation,
                                                       .most_bytes = options.capture_bytes,
                                                       .statistics = true});
  if (!writer) return std::unexpected(writer.error());
  return std::optional(std::move(*writer));
}

Result<std::optional<config::FlowProfile>> load_expected(const std::string& path) {
  if (path.empty()) return std::nullopt;
  auto profile = config::load_flow_profile(path);
  if (!profile) return std::unexpected(profile.error());
  return std::optional(std::move(*profile));
}

/// Returns the capture file if it is the only source: then no device is needed. Returns nothing for
/// a copy, a time series or a live page, because these need real time.
std::optional<std::string> only_file(const ReceiveOptions& options) {
  if (options.ports.size() != 1 || !options.pcap.empty()) return std::nullopt;
  const ProgressOptions& progress = options.choices.progress;
  if (!progress.series.empty() || progress.web.address) return std::nullopt;
  const auto spec = nic::parse_port_spec(options.ports.front());
  const auto* file = spec ? spec->as<nic::PcapSpec>() : nullptr;
  if (file == nullptr || file->in.empty() || !file->out.empty()) return std::nullopt;
  return file->in;
}

/// Error: an output is also an input or another output.
Result<void> check_files(const ReceiveOptions& options) {
  std::vector<NamedFile> inputs = {
      {"--profile", options.profile},
      {"--sent", report_file(options.sent)},
      {"--web-token-file", options.choices.progress.web.token_file.value_or("")}};
  std::vector<NamedFile> outputs = {{"--pcap", options.pcap, true},
                                    {"--series", options.choices.progress.series},
                                    {"--histogram", options.choices.histogram},
                                    options.verdicts.junit(),
                                    options.html.file()};
  for (const std::string& name : options.ports) nic::add_files(name, inputs, outputs);
  return check_outputs(inputs, outputs);
}

/// Returns one responder per port for the --answer addresses; none without such addresses.
std::vector<std::unique_ptr<ResponderPort>> responders_for(const ReceiveOptions& options,
                                                           Ports& ports) {
  std::vector<std::unique_ptr<ResponderPort>> responders;
  if (options.answers.empty()) return responders;
  for (nic::Port& port : ports.all()) {
    const auto mac = options.mac.value_or(wire::MacAddress{port.mac_address()});
    std::vector<OwnAddress> own;
    for (const wire::IpAddress& ip : options.answers) own.push_back({mac, ip});
    responders.push_back(
        std::make_unique<ResponderPort>(port, ports.pool(), ArpResponder(std::move(own))));
  }
  return responders;
}

Result<ReceiveReport> receive(const ReceiveOptions& options, Measurement& measurement,
                              const FlowNames& names) {
  auto copy = open_copy(options);
  if (!copy) return std::unexpected(copy.error());
  auto display = ProgressDisplay::open(
      options.choices.progress,
      {.command = "receive", .title = {}, .send = {}, .receive = options.ports, .asked = {}});
  if (!display) return std::unexpected(display.error());
  constexpr std::uint16_t kDeepRing = 4096;  // a slow write to a file must not lose frames
  auto ports = Ports::open(options.ports, options.verbose,
                           {.port = {.receive_ring = kDeepRing}, .sends_flows = false, .cores = 1});
  if (!ports) return std::unexpected(ports.error());
  const auto clock = nic::StampClock::open(options.clock, &ports->all().front());
  if (!clock) return std::unexpected(clock.error());
  measurement.set_clock(clock->id());
  const Duration timeout =
      options.link_timeout.value_or(options.limits.duration.value_or(kReceiveLinkTimeout));
  if (auto up = ports->wait_links(timeout, *options.limits.stop); !up) {
    // A stop during the wait gives a report without frames.
    if (!options.limits.stopped()) return std::unexpected(up.error());
  } else {
    fmt::print(stderr, "ready\n");
  }
  const auto responders = responders_for(options, *ports);
  auto report = receive_all({ports->all(), responders}, measurement, *copy ? &**copy : nullptr,
                            *display, names, options.limits, options.until_idle, *clock);
  if (*copy) {
    if (report) (*copy)->count_dropped(0, report->missed);
    report_at_end((*copy)->close());
  }
  return report;
}

Result<ReceiveReport> receive_from_file(const std::string& file, const ReceiveOptions& options,
                                        Measurement& measurement, const FlowNames& names) {
  ProgressOptions progress = options.choices.progress;
  progress.quiet = true;  // a file is read fast: only --live shows it
  auto display = ProgressDisplay::open(progress);
  if (!display) return std::unexpected(display.error());
  return receive_file(file, measurement, *display, names, options.limits);
}

/// Returns the sender's final counts: from its report, or computed from the profile.
Result<SentCounts> counts_for(const config::FlowProfile& profile, std::optional<ReportInbox>& inbox,
                              const ReceiveOptions& options) {
  if (!inbox) return planned_counts(profile);
  const auto text = inbox->wait_for_report(kReportTimeout, *options.limits.stop);
  if (!text) return std::unexpected(text.error());
  return parse_sent_counts(*text, options.sent, profile);
}

/// `profile`: that of --profile, without which there is no --sent.
Result<std::optional<ReportInbox>> open_inbox(const ReceiveOptions& options,
                                              const config::FlowProfile* profile) {
  if (options.sent.empty()) return std::nullopt;
  auto inbox =
      ReportInbox::open(options.sent, {.flows = profile->flows.size(), .hosts = options.senders});
  if (!inbox) return std::unexpected(inbox.error());
  return std::optional(std::move(*inbox));
}

void add_to_page(ReceiveOptions& options, const ReceiveSummary& summary, const std::string& json) {
  app::HtmlReport& html = options.html;
  if (!html.wanted()) return;
  html.add_report(json, kReceiveOutput, options.verdicts.last(), page_rows(summary));
  for (report::Plot& plot : received_plots(summary.measurement, summary.names))
    html.add_plot(std::move(plot));
  if (options.history)
    for (report::Plot& plot : options.history->plots()) html.add_plot(std::move(plot));
  for (const std::string& port : options.ports) html.add_port("--port", port);
}

/// Sets what is known of the sender of a profile's flows. Error: its report did not come.
Result<void> set_sender(std::span<FlowRow> rows, const ReceiveOptions& options,
                        const config::FlowProfile& expected, std::optional<ReportInbox>& inbox) {
  const auto counts = counts_for(expected, inbox, options);
  if (!counts) return std::unexpected(counts.error());
  set_sent(rows, expected, *counts, options.choices.measure.join);
  return {};
}

/// Sets the lost frames of the last figures to those of the report, whose rows begin with the flows
/// that came and continue with those that did not.
void set_lost(std::vector<FlowProgress>& flows, std::span<const FlowRow> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == flows.size()) flows.push_back({.name = rows[i].name, .is_received = true});
    flows[i].lost = rows[i].lost();
  }
}

/// Judges and prints the results. `sender`: what is known of it.
void print(ReceiveOptions& options, const ReceiveSummary& summary, bool knows_sender,
           const Result<void>& sender) {
  Judge judge = options.verdicts.judge();
  if (const Machine& machine = summary.report.machine; !machine.losses.empty())
    observe_machine(judge, machine);
  if (!sender)
    judge.add({.name = "loss",
               .asked = "the sender's report",
               .asked_by = "--sent",
               .observed = sender.error().message,
               .holds = Holds::no,
               .failure = sender.error().exit});
  observe_received(judge, summary.measurement, summary.flows, knows_sender);
  observe_end(judge, summary.report.interrupted);
  const std::string json = options.verdicts.judged(
      judge, options.json || options.html.wanted(),
      [&] { return report::json_line(kReceiveOutput, summary); }, "roce-gen receive",
      &kReceiveOutput);
  add_to_page(options, summary, json);
  print_report(options.json ? json : options.verdicts.text() + to_text(summary),
               options.pcap == "-");
}

ExitCode receive_and_report(ReceiveOptions& options) {
  const auto expected = load_expected(options.profile);
  if (!expected) return print_error(expected.error());
  if (*expected) {
    app::say_profile(options.profile, {config::kFlowProfiles}, config::words_of(**expected));
    options.verdicts.add((*expected)->expect, config::kSenderQuestions);
  }
  if (auto checked = options.verdicts.check(kReceiveOutput); !checked)
    return print_error(checked.error());
  if (const auto apart = check_files(options); !apart) return print_error(apart.error());
  auto inbox = open_inbox(options, *expected ? &**expected : nullptr);
  if (!inbox) return print_error(inbox.error());
  const FlowNames names = *expected ? names_in(**expected) : FlowNames{};
  Measurement measurement(options.choices.measure);
  std::optional<AskedFrames> asked;
  if (*expected) measurement.compare_with(asked.emplace(**expected));
  const auto file = only_file(options);
  options.choices.progress.knows_sender = expected->has_value();
  if (options.html.wanted() && !file) {
    options.history = rate_history(false, true);
    options.choices.progress.history = &*options.history;
  }
  std::vector<AbsentFlow> absent;
  std::vector<FlowRow> rows;
  Result<void> sender;
  options.choices.progress.at_end = [&](std::vector<FlowProgress>& flows) {
    if (*expected) absent = absent_flows(**expected, measurement);
    rows = flow_rows(measurement, names, absent);
    if (*expected) sender = set_sender(rows, options, **expected, *inbox);
    set_lost(flows, rows);
  };
  const auto report = file ? receive_from_file(*file, options, measurement, names)
                           : receive(options, measurement, names);
  if (!report) return print_error(report.error());
  if (!options.choices.histogram.empty())
    report_at_end(write_file(options.choices.histogram, histogram_csv(measurement, names)));
  print(options, {*report, measurement, names, std::move(rows)}, expected->has_value(), sender);
  const ExitCode code = options.verdicts.finish("roce-gen receive");
  return sender ? code : std::max(code, print_error(sender.error()));
}

void add_receive_options(app::Options& list, ReceiveOptions& options) {
  list.add("--port", app::texts(options.ports), "PORT", "port to receive from").required();
  list.add("--pcap", app::text(options.pcap), "OUT",
           "capture file of everything received, with wall clock times; OUT.pcapng.zst is "
           "compressed");
  list.add("--pcap-bytes", app::parsed(parse_bytes, options.capture_bytes), "SIZE",
           "bytes of each frame in the capture: 128, 1KiB")
      .defaults_to("all");
  app::add_rotation_options(list, options.rotation, "--pcap");
  add_limit_options(list, options.limits);
  list.add("--until-idle", app::parsed(app::read_time, options.until_idle), "TIME",
           "stop when RoCE frames were received and then none for this time");
  add_link_option(list, options.link_timeout, "1h");
  add_clock_option(list, options.clock);
  add_measure_options(list, options.choices);
  list.add("--profile", app::profile(options.profile, {config::kFlowProfiles}), "PROFILE",
           "flow profile whose [expect] limits are checked, whose flow names are used, and whose "
           "frames must all come, up to the last one");
  list.add("--sent", app::text(options.sent), "FILE|unix:PATH|tcp:HOST:PORT",
           "the sender's JSON report (run --json > FILE, or run --report-to), for its final counts "
           "instead of the profile's");
  list.add("--sent-from",
           app::each([](std::string_view text) { return read_ip(text); },
                     [&options](const auto& ip) { options.senders.push_back(ip); }),
           "IP", "address whose report --sent tcp: takes")
      .defaults_to("any");
  list.add("--answer",
           app::each([](std::string_view text) { return read_ip(text); },
                     [&options](const auto& ip) { options.answers.push_back(ip); }),
           "IP", "own address: answer ARP, neighbour discovery and pings for it");
  list.add("--mac", app::parsed([](std::string_view text) { return read_mac(text); }, options.mac),
           "MAC", "MAC address of the --answer addresses")
      .defaults_to("the port's");
  add_progress_options(list, options.choices.progress);
  options.verdicts.add_options(list);
  options.verdicts.add_strict_option(list);
  options.html.add_option(list);
  add_report_options(list, options.json, options.verbose);
}

}  // namespace

app::Command receive_command() {
  auto options = std::make_shared<ReceiveOptions>();
  app::Command command{
      .name = "receive",
      .help = "Measure and capture what is received at ports",
      .examples = kReceiveExamples,
      .notes = kReceiveNotes,
      .check = [options](const app::Given&) -> Result<void> {
        if (auto sound = app::check_rotation(options->rotation, !options->pcap.empty(), "--pcap");
            !sound)
          return sound;
        if (options->sent.empty() || !options->profile.empty()) return {};
        return fail("--sent: --profile PROFILE is needed too: its flows are compared");
      },
      .run =
          [options] {
            options->limits.stop = &stop_on_signals();
            options->choices.progress.title =
                fmt::format("roce-gen receive {}", fmt::join(options->ports, " "));
            return receive_and_report(*options);
          },
  };
  add_receive_options(command.options, *options);
  return command;
}

}  // namespace lw::gen
