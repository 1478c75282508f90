// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "app/html_report.h"
#include "app/stop_signal.h"
#include "app/verdicts.h"
#include "config/toml/profile_search.h"
#include "core/counted.h"
#include "core/output.h"
#include "core/quantity.h"
#include "core/token.h"
#include "gen/endpoint/commands.h"
#include "gen/endpoint/server.h"
#include "gen/perf/options/perf_options.h"
#include "gen/questions.h"
#include "report/figures/json.h"

namespace lw::gen::endpoint {
namespace {

constexpr const char* kServeExamples =
    R"(roce-endpoint serve --device rxe0 --region 64MiB
roce-endpoint serve --device mlx5_0 --gid 3 --region 1GiB,hugepages --qps 16 --accept 192.0.2.2
roce-endpoint serve --region 64MiB,file=/tmp/received.bin --sessions 1 --json
roce-endpoint serve --region 16MiB,file=/tmp/ring --layout flow48 --records flows.csv)";

constexpr const char* kServeNotes =
    R"(Prints "ready" on stderr, and the command line of the other side with the token. Parameters go over
TCP, in the clear: a host that reads them can write to the region during a run. A run's memory is
registered when its client is admitted, with the access that it needs and no longer than it lasts.
Plain memory is cleared after each session; a file, and a ring of records, keep their data.)";

struct ServeCommand {
  ServeOptions options;
  ClassOptions traffic;
  std::string listen, token_file;
  std::string layout;         // layout of records: a TOML file, or the name of a shipped layout
  std::string records = "-";  // output file of records
  app::Verdicts verdicts{kServeQuestions};
  app::HtmlReport page;
  bool json = false;
};

/// Reads "ADDRESS", "ADDRESS:PORT", "[IPV6]:PORT" or ":PORT".
Result<void> read_listen(const std::string& text, handover::Admission& admission) {
  const auto parts = net::split_address(text);
  if (!parts)
    return fail(
        "--listen: expected ADDRESS, ADDRESS:PORT, [IPV6]:PORT or :PORT with a port from 0 "
        "to 65535, found " +
        text);
  admission.port = parts->port.value_or(admission.port);
  if (parts->host.empty()) return {};
  const auto ip = read_ip("--listen", parts->host);
  if (!ip) return std::unexpected(ip.error());
  admission.address = parts->host;
  return {};
}

std::string counters_text(const handover::Report& report) {
  std::string text;
  for (const auto& [name, value] : report.counters)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  return text;
}

double gbps_of(const SessionEnd& end) {
  return end.seconds > 0 ? static_cast<double>(end.report.bytes) * 8e-9 / end.seconds : 0;
}

/// Returns why the packets' signatures were not read; empty if they were read, or if there were
/// none.
std::string unread_signatures(const SessionEnd& end) {
  if (!end.hello.signatures || end.signatures) return "";
  if (end.ring) return "the messages are taken as records";
  return "a device tells its program only of SENDs and of WRITEs with an immediate";
}

std::string text_of(const SessionEnd& end) {
  const handover::Report& report = end.report;
  std::string text = fmt::format(
      "{}: {} of {} on {} QP{}: {}{}, {}, {} checked, {} wrong; {} duplicate and {} packets out of "
      "sequence; {:.2f} s, {:.3f} Gb/s, CPU {:.1f} %\n",
      wire::to_string(end.peer), wire::name_of(end.hello.params.operation),
      format_bytes(end.hello.params.size), end.hello.qps.size(),
      end.hello.qps.size() == 1 ? "" : "s", counted(report.messages, "message"),
      report.counted ? "" : " by the client's count",
      format_bytes(static_cast<double>(report.bytes)), report.stats.checked, report.stats.wrong,
      report.stats.duplicates, report.stats.out_of_sequence, end.seconds, gbps_of(end),
      100 * end.cpu_share);
  if (end.sent_messages)
    text +=
        fmt::format("  both ways: {}, {} of this side\n", counted(*end.sent_messages, "message"),
                    format_bytes(static_cast<double>(*end.sent_bytes)));
  if (!report.counters.empty()) text += fmt::format("  device: {}\n", counters_text(report));
  if (end.ring)
    text += fmt::format("  ring: {} taken, {} lapped in {}, {} lost\n",
                        counted(end.ring->records, "record"), end.ring->lapped,
                        counted(end.ring->laps, "lap"), end.ring->lost);
  if (end.signatures) text += end.signatures->text();
  if (const std::string why = unread_signatures(end); !why.empty())
    text += fmt::format("  signatures not read: {}\n", why);
  if (!report.failure.empty()) text += fmt::format("  failed: {}\n", report.failure);
  return text;
}

void observe_session(Judge& judge, const SessionEnd& end) {
  const std::uint64_t wrong = end.report.stats.wrong;
  judge.add(
      {.name = "wrong",
       .value = static_cast<double>(wrong),
       .text = fmt::format("{} had other bytes than were sent", format_count(wrong, "message")),
       .count = end.report.stats.checked});
  const bool failed = !end.report.failure.empty();
  judge.add({.name = "broken",
             .value = failed ? 1 : 0,
             .text = failed ? "the session failed: " + end.report.failure : "no connection failed",
             .count = 1});
  if (!end.ring) return;
  const std::uint64_t gaps = end.ring->lapped + end.ring->lost;
  judge.add({.name = "machine",
             .value = static_cast<double>(gaps) /
                      static_cast<double>(std::max<std::uint64_t>(1, end.ring->records + gaps)),
             .text = fmt::format("this machine lost {} of {} records, as they came faster than it "
                                 "read them",
                                 format_count(gaps), format_count(end.ring->records + gaps)),
             .count = end.ring->records + gaps,
             .limit = "== 0",
             .where = "ring of records"});
}

/// Reads the layout of records and opens their file, if the command has a layout.
Result<std::optional<OutputFile>> open_records(ServeCommand& command) {
  if (command.layout.empty()) return std::nullopt;
  auto layout = config::load_record_layout(command.layout);
  if (!layout) return std::unexpected(layout.error());
  command.options.records.emplace(std::move(*layout));
  auto file = OutputFile::open(command.records, OutputFile::Mode::growing);
  if (!file) return std::unexpected(file.error());
  if (command.records.ends_with(".csv")) file->write(command.options.records->csv_header());
  return std::optional(std::move(*file));
}

ExitCode run_serve(ServeCommand& command, const std::atomic<bool>& stop) {
  ServeOptions& options = command.options;
  if (auto listen = read_listen(command.listen, options.admission); !listen)
    return print_error(listen.error());
  const auto traffic = load_device_class(command.traffic);
  if (!traffic) return print_error(traffic.error());
  warn_of_hop_limit(*traffic);
  options.traffic = *traffic;
  auto token = command.token_file.empty() ? make_token()
                                          : read_token_file("--token-file", command.token_file);
  if (!token) return print_error(token.error());
  if (const auto apart =
          check_outputs({{"--token-file", command.token_file}, {"--layout", command.layout}},
                        {{"--region", options.region.file},
                         {"--records", command.records},
                         command.page.file(),
                         command.verdicts.junit()});
      !apart)
    return print_error(apart.error());
  if (auto checked = command.verdicts.check(kServeOutput); !checked)
    return print_error(checked.error());
  options.admission.token = *token;
  auto records = open_records(command);
  if (!records) return print_error(records.error());
  options.on_record = [&](std::span<const std::byte> record) {
    const bool csv = command.records.ends_with(".csv");
    (*records)->write(csv ? options.records->csv_line(record) : options.records->json_line(record));
  };
  const ServeEvents events{
      .ready =
          [&](std::uint16_t port, const Device& device) {
            fmt::print(stderr, "ready\nroce-endpoint bw --peer {}:{} --token {}\n",
                       device.shown_address(), port, *token);
          },
      .ended =
          [&](const SessionEnd& end) {
            const bool taken = *records && command.records == "-";
            Judge judge = command.verdicts.judge();
            observe_session(judge, end);
            const std::string json = command.verdicts.judged(
                judge, command.json || command.page.wanted(),
                [&] { return report::json_line(kServeOutput, end); }, "roce-endpoint serve",
                &kServeOutput);
            print_report(command.json ? json : command.verdicts.text() + text_of(end), taken);
            command.page.add_report(json, kServeOutput, command.verdicts.last());
            standard_output().flush();
            if (*records) (*records)->flush();
          },
      .refused = [](const std::string& why) { fmt::print(stderr, "refused {}\n", why); }};
  const auto served = serve(options, stop, events);
  if (*records) report_at_end((*records)->close());
  if (!served) return print_error(served.error());
  return command.verdicts.finish("roce-endpoint serve");
}

void add_serve_options(app::Options& list, ServeCommand& command) {
  ServeOptions& options = command.options;
  list.add("--device", app::text(options.device.name), "NAME", "RDMA device")
      .defaults_to("the only one");
  list.add("--gid", app::number(options.device.gid), "N", "index of the GID")
      .defaults_to("by the address of the TCP connection");
  list.add("--region", app::parsed(parse_region, options.region), "SIZE[,file=PATH][,hugepages]",
           "most memory that a run may use, in bytes; in a file, or in huge pages")
      .required();
  list.add("--qps", app::number(options.most_qps, 1u, std::uint32_t{handover::kMostQps}), "N",
           "most QPs of a run");
  using wire::Transport;
  list.add("--transport",
           app::choice<std::optional<Transport>>(options.transport, {{"any", std::nullopt},
                                                                     {"rc", Transport::rc},
                                                                     {"uc", Transport::uc},
                                                                     {"ud", Transport::ud}}),
           "KIND", "the only transport to serve");
  list.add("--listen", app::text(command.listen), "ADDRESS:PORT", "TCP address of the hand-over")
      .defaults_to("every address, port 18515");
  list.add("--accept",
           app::each(
               [](std::string_view text) { return read_ip(text); },
               [&options](const wire::IpAddress& ip) { options.admission.accepted.push_back(ip); }),
           "IP", "address that may connect")
      .defaults_to("any");
  list.add("--token-file", app::text(command.token_file), "FILE",
           "file whose first line is the token")
      .defaults_to("a new random token");
  list.add("--sessions", app::number(options.sessions), "N",
           "end after this number of sessions; 0: on a signal");
  list.add("--idle-limit", app::parsed(app::read_time, options.idle_limit), "TIME",
           "end a session whose client gives no sign for this time; 0s: never")
      .defaults_to("60s");
  list.add_flag("--keep", options.keep,
                "leave a client's data in plain memory, where the next client may read it");
  list.add("--poll", app::choice<bool>(options.events, {{"busy", false}, {"event", true}}), "HOW",
           "wait for completions: busy, or sleep until an event");
  add_class_options(list, command.traffic);
  list.add_flag("--json", command.json, "print one line of JSON per session");
  command.verdicts.add_options(list);
  command.page.add_option(list);
  list.add("--layout", app::profile(command.layout, {config::kTelemetryProfiles}), "LAYOUT",
           "follow a ring of records that the client writes, such as `roce-gen telemetry`: a TOML "
           "file, or flow48 or roce32");
  list.add("--records", app::text(command.records), "FILE",
           "file for the records: CSV if its name ends in .csv, otherwise a line of JSON each; "
           "- is standard output");
}

}  // namespace

const FigureTable& session_figures() {
  using Row = FigureOf<SessionEnd>;
  using handover::Report;
  static constexpr Figure kRows[] = {
      Row::of<[](const SessionEnd& end) { return wire::to_string(end.peer); }>(
          "peer", "Address of the client."),
      Row::of<[](const SessionEnd& end) { return end.hello.params.operation; }>("operation",
                                                                                "RDMA operation."),
      Row::of<[](const SessionEnd& end) { return end.hello.params.immediate; }>(
          "immediate", "True for operations with immediate data."),
      Row::of<[](const SessionEnd& end) { return end.hello.params.size; }>(
          "size", "Message size, in bytes.", Unit::bytes),
      Row::of<[](const SessionEnd& end) { return end.hello.qps.size(); }>("connections",
                                                                          "Number of QPs."),
      Row::of<through<&SessionEnd::report, &Report::counted>>("counted",
                                                              handover::meaning::kCounted),
      Row::of<through<&SessionEnd::report, &Report::messages>>("messages",
                                                               handover::meaning::kMessages),
      Row::rows_of<through<&SessionEnd::report, &Report::stats>>(),
      Row::of<through<&SessionEnd::report, &Report::bytes>>("bytes", handover::meaning::kBytes,
                                                            Unit::bytes),
      Row::of<&SessionEnd::sent_messages>(
          "sent_messages", "Messages that this side has sent or fetched, in a run both ways.")
          .if_any(),
      Row::of<&SessionEnd::sent_bytes>("sent_bytes", "Bytes of payload of these.", Unit::bytes)
          .if_any(),
      Row::of<through<&SessionEnd::report, &Report::errors>>("errors", handover::meaning::kErrors),
      Row::of<through<&SessionEnd::report, &Report::failure>>("failure",
                                                              handover::meaning::kFailure),
      Row::of<&SessionEnd::seconds>("seconds", "Duration.", Unit::s),
      Row::of<gbps_of>("throughput_gbps", "Rate of payload.", Unit::gbps),
      Row::of<[](const SessionEnd& end) { return 100 * end.cpu_share; }>(
          "cpu_percent", "Processor time of one core.", Unit::percent),
      Row::of<through<&SessionEnd::report, &Report::counters>>("counters",
                                                               handover::meaning::kCounters),
      Row::of<&SessionEnd::ring>("ring", "Records of telemetry."),
      Row::of<&SessionEnd::signatures>("signatures", "What the signatures of the packets show."),
      Row::of<unread_signatures>("signatures_not_read", "Reason why signatures were not read.")
          .if_any()};
  static constexpr FigureTable kTable{"A session of the server that ended; a line each.", kRows};
  return kTable;
}

app::Command serve_command() {
  auto command = std::make_shared<ServeCommand>();
  app::Command made{
      .name = "serve",
      .help = "Serve a region of memory to one client after the other",
      .examples = kServeExamples,
      .notes = kServeNotes,
      .check = [command](const app::Given& given) -> Result<void> {
        if (given.has("--records") && !given.has("--layout"))
          return fail("--records goes with --layout");
        return {};
      },
      .run = [command] { return run_serve(*command, stop_on_signals()); },
  };
  add_serve_options(made.options, *command);
  return made;
}

}  // namespace lw::gen::endpoint
