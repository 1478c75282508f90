// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "gen/commands/commands.h"
#include "gen/commands/perf_options.h"
#include "gen/perf/perf_capture.h"
#include "gen/perf/perf_report.h"

namespace lw::gen {
namespace {

constexpr const char* kFooter = R"(Examples:
  roce-gen perf --sim --path profiles/paths/apn-380km.toml --op write -s 64KiB -q 4 -t 2048
  roce-gen perf --sim --path profiles/paths/apn-380km.toml --op read -a -q 16 --json
  roce-gen perf --sim --delay 1ms --pattern lat --op send -s 64)";

struct PerfCommand {
  PerfOptions options;
  std::string pcap;
  bool sim = false, all_sizes = false, json = false;
};

std::vector<std::uint32_t> sizes_of(const PerfCommand& command, const sim::PerfConfig& config) {
  if (!command.all_sizes || config.operation == wire::Operation::fetch_add) return {config.size};
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t size = 2; size <= 8u << 20; size *= 2) sizes.push_back(size);
  return sizes;
}

/// Runs and prints one size; how many work requests failed.
std::uint64_t run_bandwidth_line(const PerfCommand& command, const sim::PerfConfig& config,
                                 const sim::PerfHook& hook) {
  const sim::BandwidthResult result = sim::run_bandwidth(config, hook);
  fmt::print("{}",
             command.json ? bandwidth_json(config, result) : bandwidth_line(config.size, result));
  return result.failed;
}

std::uint64_t run_latency_line(const PerfCommand& command, const sim::PerfConfig& config,
                               const sim::PerfHook& hook) {
  const sim::LatencyResult result = sim::run_latency(config, hook);
  fmt::print("{}", command.json ? latency_json(config, result) : latency_line(config.size, result));
  return result.failed;
}

ExitCode perf(const PerfCommand& command) {
  auto config = perf_config(command.options);
  if (!config) return complain(config.error());
  const bool latency = command.options.pattern == "lat";
  if (!command.json) fmt::print("{}", latency ? latency_header() : bandwidth_header());
  PerfCapture capture;
  sim::PerfHook hook;
  if (!command.pcap.empty()) {
    hook = [&capture](sim::Simulation& simulation) { capture.attach(simulation); };
  }
  std::uint64_t failed = 0;
  for (const std::uint32_t size : sizes_of(command, *config)) {
    config->size = size;
    failed += latency ? run_latency_line(command, *config, hook)
                      : run_bandwidth_line(command, *config, hook);
  }
  if (hook) {
    if (const auto wrote = capture.write(command.pcap); !wrote) return complain(wrote.error());
  }
  if (failed == 0) return ExitCode::done;
  return complain({fmt::format("{} work requests failed", failed), ExitCode::failed});
}

}  // namespace

void add_perf_command(CLI::App& program, Command& chosen) {
  CLI::App* command =
      program.add_subcommand("perf", "Measure RDMA as perftest does, over a simulated path");
  auto options = std::make_shared<PerfCommand>();
  command->add_flag("--sim", options->sim, "In virtual time, on no port: what there is so far")
      ->required();
  add_perf_options(command, options->options);
  command->add_flag("-a,--all", options->all_sizes, "Every power of two, 2 B to 8 MiB");
  add_run_options(command, options->options);
  command->add_option("--pcap", options->pcap, "Write both ports' frames down as pcapng; with -n")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "One line of JSON a size");
  command->footer(kFooter);
  command->callback([&chosen, options] {
    const bool endless = options->options.config.iterations == 0 || options->all_sizes;
    if (!options->pcap.empty() && endless) {
      throw CLI::ValidationError("--pcap", "goes with -n and one size: every frame is kept");
    }
    chosen = [options] { return perf(*options); };
  });
}

}  // namespace lw::gen
