// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "app/stop_signal.h"
#include "gen/app/receiver.h"
#include "gen/arp/neighbor_table.h"
#include "gen/commands/commands.h"
#include "gen/commands/measure_options.h"
#include "gen/perf/options/perf_options.h"
#include "gen/report/run_report.h"
#include "gen/tx/ports.h"

namespace lw::gen {
namespace {

constexpr const char* kReceiveExamples =
    R"(roce-gen receive --port memif:/tmp/lw.sock,server --until-idle 2
roce-gen receive --port eth1 --port eth2 --duration 10s --check-icrc 64 --json
roce-gen receive --port eth1 --expect profiles/flows/demo.toml --histogram latency.csv
roce-gen receive --port pcap:pcaps/rxe/netem_reorder.pcap)";

constexpr const char* kReceiveNotes =
    R"(Prints "ready" on stderr once the ports are open: the moment to start the sender.)";

/// Long enough for a person to start the other side; a script gives --duration.
constexpr Duration kReceiveLinkTimeout = std::chrono::hours(1);

struct ReceiveOptions {
  std::vector<std::string> ports;
  std::string pcap, expect;
  std::vector<wire::IpAddress> answers;
  std::optional<wire::MacAddress> mac;
  Limits limits;
  std::optional<Duration> until_idle;
  MeasureChoices choices;
  bool json = false, verbose = false;
};

Result<std::optional<capture::Writer>> open_copy(const std::string& path) {
  if (path.empty()) return std::nullopt;
  auto writer = capture::Writer::create(path, capture::format_for(path));
  if (!writer) return std::unexpected(writer.error());
  return std::optional(std::move(*writer));
}

Result<std::optional<config::FlowProfile>> load_expected(const std::string& path) {
  if (path.empty()) return std::nullopt;
  auto profile = config::load_flow_profile(path);
  if (!profile) return std::unexpected(profile.error());
  return std::optional(std::move(*profile));
}

/// The capture, when it is the only thing to receive from: then no device is needed.
std::optional<std::string> only_file(const ReceiveOptions& options) {
  if (options.ports.size() != 1 || !options.pcap.empty()) return std::nullopt;
  const auto spec = nic::parse_port_spec(options.ports.front());
  const auto* file = spec ? spec->as<nic::PcapPort>() : nullptr;
  if (file == nullptr || file->in.empty() || !file->out.empty()) return std::nullopt;
  return file->in;
}

/// One responder per port for the --answer addresses.
std::vector<std::unique_ptr<ResponderPort>> stations_for(const ReceiveOptions& options,
                                                         Ports& ports) {
  std::vector<std::unique_ptr<ResponderPort>> stations;
  if (options.answers.empty()) return stations;
  for (nic::Port& port : ports.all()) {
    const auto mac = options.mac.value_or(wire::MacAddress{port.mac_address()});
    std::vector<OwnAddress> own;
    for (const wire::IpAddress& ip : options.answers) own.push_back({mac, ip});
    stations.push_back(
        std::make_unique<ResponderPort>(port, ports.pool(), ArpResponder(std::move(own))));
  }
  return stations;
}

Result<ReceiveReport> receive(const ReceiveOptions& options, Measurement& measurement,
                              const FlowNames& names) {
  auto copy = open_copy(options.pcap);
  if (!copy) return std::unexpected(copy.error());
  auto display = ProgressDisplay::open(options.choices.progress);
  if (!display) return std::unexpected(display.error());
  constexpr std::uint16_t kDeepRing = 4096;  // a file's hiccup must not lose frames
  auto ports = Ports::open(options.ports, options.verbose,
                           {.port = {.receive_ring = kDeepRing}, .sends_flows = false, .cores = 1});
  if (!ports) return std::unexpected(ports.error());
  fmt::print(stderr, "ready\n");
  const Duration timeout = options.limits.duration.value_or(kReceiveLinkTimeout);
  if (auto up = ports->wait_links(timeout, *options.limits.stop); !up) {
    // Somebody who stops the wait gets the report of what came: nothing.
    if (!options.limits.stopped()) return std::unexpected(up.error());
  }
  const auto stations = stations_for(options, *ports);
  auto report = receive_all({ports->all(), stations}, measurement, *copy ? &**copy : nullptr,
                            *display, names, options.limits, options.until_idle);
  if (!report || !*copy) return report;
  if (const auto closed = (*copy)->close(); !closed) return std::unexpected(closed.error());
  return report;
}

ExitCode receive_and_report(const ReceiveOptions& options) {
  const auto expected = load_expected(options.expect);
  if (!expected) return print_error(expected.error());
  const FlowNames names = *expected ? names_in(**expected) : FlowNames{};
  Measurement measurement(options.choices.measure);
  const auto file = only_file(options);
  const auto report = file ? receive_file(*file, measurement, options.limits)
                           : receive(options, measurement, names);
  if (!report) return print_error(report.error());
  Verdict verdict;
  if (*expected) {
    judge_received(verdict, **expected, measurement, nullptr);
    judge_missed(verdict, report->missed);
    note_unchecked(verdict, **expected, false, true);
  }
  std::FILE* out = options.pcap == "-" ? stderr : stdout;
  if (options.json) {
    fmt::print(out, "{}", to_json(*report, measurement, names, *expected ? &verdict : nullptr));
  } else {
    fmt::print(out, "{}{}", to_text(*report, measurement, names),
               *expected ? to_text(verdict, **expected) : "");
  }
  if (!options.choices.histogram.empty()) {
    const auto csv = histogram_csv(measurement, names);
    if (auto kept = write_file(options.choices.histogram, csv); !kept) {
      return print_error(kept.error());
    }
  }
  return verdict.holds() ? ExitCode::done : ExitCode::failed;
}

void add_receive_options(app::Options& list, ReceiveOptions& options) {
  list.add("--port", app::texts(options.ports), "PORT", "port to receive from").required();
  list.add("--pcap", app::text(options.pcap), "OUT",
           "capture file of everything received, with wall clock times");
  add_limit_options(list, options.limits);
  list.add("--until-idle", app::parsed(app::read_time, options.until_idle), "TIME",
           "stop when frames were received and then none for this time");
  add_measure_options(list, options.choices);
  list.add("--expect", app::text(options.expect), "PROFILE",
           "flow profile whose [expect] limits are checked and whose flow names are used");
  list.add("--answer",
           app::each([](std::string_view text) { return read_ip(text); },
                     [&options](const auto& ip) { options.answers.push_back(ip); }),
           "IP", "own address: answer ARP, neighbour discovery and pings for it");
  list.add("--mac", app::parsed([](std::string_view text) { return read_mac(text); }, options.mac),
           "MAC", "MAC address of the --answer addresses")
      .defaults_to("the port's");
  add_progress_options(list, options.choices.progress);
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
      .run =
          [options] {
            options->limits.stop = &stop_on_signals();
            return receive_and_report(*options);
          },
  };
  add_receive_options(command.options, *options);
  return command;
}

}  // namespace lw::gen
