// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <charconv>
#include <memory>
#include <ranges>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/quantity.h"
#include "impair/cli/command.h"
#include "impair/datapath/run.h"
#include "nic/eal.h"

namespace lw::impair {
namespace {

/// As typed; read when the command runs.
struct Options {
  std::string profile, west, east;
  std::optional<Duration> duration, until_idle;
  Duration wait = std::chrono::seconds(30);
  std::optional<std::uint64_t> seed;
  std::string idle = "adaptive";
  bool json = false;
  std::vector<int> pinned;
  RunConfig run;
};

/// "10s", "500ms"; a number alone is seconds.
Duration read_time(const std::string& option, const std::string& text) {
  const bool bare = text.find_first_not_of("0123456789.") == std::string::npos;
  const auto time = parse_duration(bare ? text + "s" : text);
  if (!time) throw CLI::ValidationError(option, time.error());
  if (time->count() == 0)
    throw CLI::ValidationError(option, "expected more than no time, found " + text);
  return *time;
}

/// An option that read_time() reads into `target`, which must outlive the command line.
template <class Target>
CLI::Option* add_time(CLI::App& command, const char* name, Target& target, const char* what) {
  return command
      .add_option_function<std::string>(
          name, [&target, name](const std::string& text) { target = read_time(name, text); }, what)
      ->type_name("TIME");
}

/// "2", or "2,3".
std::vector<int> read_cpus(const std::string& text) {
  std::vector<int> cpus;
  for (const auto piece : std::views::split(text, ',')) {
    const std::string_view part(piece);
    int cpu = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), cpu);
    if (error != std::errc() || end != part.data() + part.size() || cpu < 0)
      throw CLI::ValidationError("--core", "expected CPU numbers, found " + text);
    cpus.push_back(cpu);
  }
  return cpus;
}

/// DPDK sees to the first.
Result<void> check_second_core(const RunConfig& config) {
  const auto allowed = nic::allowed_cpus();
  if (!config.second_core || std::ranges::find(allowed, *config.second_core) != allowed.end())
    return {};
  return fail(fmt::format("core {} is not one that this process may use; these are: {}",
                          *config.second_core, fmt::join(allowed, ", ")),
              ExitCode::environment);
}

Result<RunConfig> run_config(const Options& options) {
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
  config.duration = options.duration;
  config.until_idle = options.until_idle;
  config.wait = options.wait;
  return config;
}

ExitCode execute(const Options& options) {
  const auto version = LiveProfile::load(options.profile, options.seed);
  if (!version) return print_error(version.error());
  const auto config = run_config(options);
  if (!config) return print_error(config.error());
  const auto report = run(*version, *config);
  if (!report) return print_error(report.error());
  fmt::print("{}", options.json ? to_json(*report).dump() + "\n" : to_text(*report));
  return report->holds() ? ExitCode::done : ExitCode::failed;
}

void add_ports(CLI::App& command, Options& options) {
  constexpr const char* kForms =
      "eth1, 0000:3b:00.0, memif:PATH[,server], pcap:IN[,OUT], null, or DPDK device arguments";
  command.add_option("PROFILE", options.profile, "TOML file, or - for standard input")->required();
  command.add_option("--west", options.west, kForms)->required()->type_name("PORT");
  command.add_option("--east", options.east, "the port on the other side")
      ->required()
      ->type_name("PORT");
}

void add_limits(CLI::App& command, Options& options) {
  add_time(command, "--duration", options.duration, "stop after so long: 10s, 500ms");
  add_time(command, "--until-idle", options.until_idle,
           "stop when nothing has come in for so long");
  add_time(command, "--wait", options.wait, "for both links to come up (default: 30s)");
}

void add_outputs(CLI::App& command, Options& options) {
  command.add_option("--seed", options.seed, "in place of the profile's");
  command
      .add_option("--ledger", options.run.ledger,
                  "what happened to which frame: JSON Lines, or FILE.lwl, compact (see ledger)")
      ->type_name("FILE");
  command
      .add_option("--capture", options.run.capture,
                  "what came in and went out, each frame with what was done to it")
      ->type_name("FILE.pcapng");
  command.add_option("--capture-bytes", options.run.capture_bytes,
                     "of each frame in the capture (default: all)");
  command.add_flag("--json", options.json, "the report as one JSON object on standard output");
  command.add_option("--ready-file", options.run.ready_file, "made once both links are up")
      ->type_name("FILE");
}

void add_services(CLI::App& command, Options& options) {
  command.add_option("--control", options.run.control, "a Unix socket for `roce-impair ctl`")
      ->type_name("SOCKET");
  command
      .add_option("--metrics", options.run.metrics,
                  "serve Prometheus' text at http://ADDRESS:PORT/metrics, 127.0.0.1:9091")
      ->type_name("ADDRESS:PORT");
  command.add_flag("--telemetry", options.run.telemetry,
                   "/impair/stats and /impair/rules in DPDK's telemetry");
  command
      .add_option("--file-prefix", options.run.file_prefix,
                  "of DPDK's runtime directory (default: one of its own; dpdk-telemetry.py looks "
                  "for rte)")
      ->type_name("NAME");
}

void add_machine(CLI::App& command, Options& options) {
  command
      .add_option("--idle", options.idle,
                  "with nothing to do: sleep a little, yield the core between looks, or spin")
      ->check(CLI::IsMember(kIdleModes))
      ->capture_default_str();
  command
      .add_option("--cores", options.run.cores,
                  "1: both directions on one core; 2: one a direction")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--core", [&](const std::string& text) { options.pinned = read_cpus(text); },
          "CPU to pin to; with --cores 2 two of them: 2,3 (default: none)")
      ->type_name("CPU");
  command.add_flag("--verbose", options.run.verbose, "show DPDK's own log");
}

}  // namespace

void add_run_command(CLI::App& program, Command& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand(
      "run", "Stand between two ports: delay and lose what a profile matches, pass the rest");
  add_ports(*command, *options);
  add_limits(*command, *options);
  add_outputs(*command, *options);
  add_services(*command, *options);
  add_machine(*command, *options);
  command->callback([options, &chosen] { chosen = [options] { return execute(*options); }; });
}

}  // namespace lw::impair
