// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/run_command.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "gen/commands/commands.h"
#include "app/stop_signal.h"
#include "gen/receive/measure_options.h"
#include "gen/report/run_summary.h"

namespace lw::gen {
namespace {

constexpr const char* kFooter = R"(Examples:
  roce-gen run profiles/flows/ipv4-rc-send.toml --pcap out.pcap
  roce-gen run profiles/flows/demo.toml --port memif:/tmp/lw.sock,server --pcap sent.pcapng
  roce-gen run profiles/flows/ipv6-ud-send.toml --port eth1 --duration 10s --json
  roce-gen run profiles/flows/demo.toml --port eth1 --receive eth2 --series run.csv
  echo '[[flow]]' | roce-gen run - --pcap - | roce-dissect list -

PORT: a Linux interface (eth1), a PCI address (0000:3b:00.0), memif:PATH[,server],
pcap:IN[,OUT], null, or raw DPDK device arguments. With several, flows take them in turn.)";

ExitCode keep_histogram(const RunOptions& options, const Measurement& measurement,
                        const FlowNames& names) {
  if (options.choices.histogram.empty()) return ExitCode::done;
  const auto kept = write_file(options.choices.histogram, histogram_csv(measurement, names));
  return kept ? ExitCode::done : print_error(kept.error());
}

ExitCode run(const RunOptions& options) {
  auto profile = config::load_flow_profile(options.profile);
  if (!profile) return print_error(profile.error());
  Measurement measurement(options.choices.measure);
  Measurement* receives = options.receive.empty() ? nullptr : &measurement;
  auto report = options.ports.empty() ? run_to_file(*profile, options)
                                      : run_to_ports(*profile, options, receives);
  if (!report) return print_error(report.error());
  report->profile = profile->name;
  report->seed = options.seed.value_or(profile->seed);
  // A capture on standard output leaves no room for a report there.
  std::FILE* out = options.pcap == "-" ? stderr : stdout;
  const RunSummary summary(*profile, *report, receives);
  fmt::print(out, "{}", options.json ? summary.json() : summary.text());
  if (const auto kept = keep_histogram(options, measurement, names_in(*profile));
      kept != ExitCode::done) {
    return kept;
  }
  return summary.good() ? ExitCode::done : ExitCode::failed;
}

}  // namespace

void add_run_command(CLI::App& program, Command& chosen) {
  CLI::App* command = program.add_subcommand("run", "Send a profile's flows, or write them down");
  auto options = std::make_shared<RunOptions>();
  command->add_option("profile", options->profile, "The profile; - is standard input")
      ->required()
      ->type_name("PROFILE");
  command
      ->add_option("--pcap", options->pcap,
                   "Write the frames into this file: at once, with the stamps at which they "
                   "are due; beside --port, as they were sent. - is standard output")
      ->type_name("OUT");
  command->add_option("--port", options->ports, "Send the frames there, in real time")
      ->type_name("PORT");
  command
      ->add_option("--receive", options->receive,
                   "Measure there what arrives: one process, one clock. May be a --port too")
      ->type_name("PORT");
  add_time_option(command, "--wait", options->patience,
                  "How long to wait, behind the last frame that came, for those that are missing; "
                  "500ms");
  add_measure_options(command, options->choices);
  add_watch_options(command, options->choices.watch);
  command->add_option("--count", options->limits.count, "Stop after so many frames, of all flows")
      ->type_name("N")
      ->default_str("all");
  add_time_option(command, "--duration", options->limits.duration,
                  "Stop after that time: 10s, 500ms");
  command->add_option("--seed", options->seed, "In place of the profile's")->type_name("S");
  command
      ->add_option("--cores", options->cores,
                   "Send from so many cores, each with its flows and its own queue on each port")
      ->type_name("N")
      ->check(CLI::Range(1, 128))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Report in one line of JSON");
  command->add_flag("--verbose", options->verbose, "Show what DPDK says");
  command->footer(kFooter);
  command->callback([&chosen, options] {
    if (options->pcap.empty() && options->ports.empty()) {
      throw CLI::RequiredError("--pcap OUT or --port PORT");
    }
    if (!options->receive.empty() && options->ports.empty()) {
      throw CLI::RequiredError("--port PORT beside --receive");
    }
    if (options->cores > 1 && (options->ports.empty() || !options->pcap.empty())) {
      throw CLI::ValidationError("--cores", "more than 1 needs --port PORT and no --pcap");
    }
    options->limits.stop = &stop_on_signals();
    chosen = [options] { return run(*options); };
  });
}

}  // namespace lw::gen
