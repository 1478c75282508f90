// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/commands.h"
#include "gen/perf_capture.h"
#include "gen/perf_options.h"
#include "gen/perf_report.h"

namespace lw::gen {
namespace {

constexpr const char* kFooter = R"(Examples:
  roce-gen perf --sim --path profiles/paths/apn-380km.toml --op write -s 64KiB -q 4 -t 2048
  roce-gen perf --sim --path profiles/paths/apn-380km.toml --op read -a -q 16 --json
  roce-gen perf --sim --delay 1ms --pattern lat --op send -s 64)";

struct PerfCommand {
  PerfOptions options;
  std::string pattern = "bw";
  std::string pcap;
  std::optional<double> loss;
  std::uint64_t iterations = 0, seed = 1;
  unsigned timeout = 18, retries = 7;
  bool sim = false, all_sizes = false, adaptive = false, selective = false, json = false;
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

std::uint64_t run_latency_line(const PerfCommand& command, sim::PerfConfig config,
                               const sim::PerfHook& hook) {
  constexpr std::uint64_t kIterations = 1000;  // perftest's
  if (config.iterations == 0) config.iterations = kIterations;
  const sim::LatencyResult result = sim::run_latency(config, hook);
  fmt::print("{}", command.json ? latency_json(config, result) : latency_line(config.size, result));
  return result.failed;
}

Result<sim::PerfConfig> config_of(const PerfCommand& command) {
  auto config = perf_config(command.options);
  if (!config) return config;
  config->iterations = command.iterations;
  config->path.mishaps.loss = command.loss.value_or(0);
  config->path.mishaps.seed = command.seed;
  config->qp.timeout = static_cast<std::uint8_t>(command.timeout);
  config->qp.retry_count = static_cast<std::uint8_t>(command.retries);
  config->qp.adaptive_retransmission = command.adaptive;
  if (command.selective) config->qp.recovery = transport::Recovery::selective_repeat;
  return config;
}

ExitCode perf(const PerfCommand& command) {
  auto config = config_of(command);
  if (!config) return complain(config.error());
  const bool latency = command.pattern == "lat";
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

void add_recovery_options(CLI::App* command, PerfCommand& options) {
  const auto read_loss = [&options](const std::string& text) {
    const auto value = parse_probability(text);
    if (!value) throw CLI::ValidationError("--loss", value.error());
    options.loss = *value;
  };
  command->add_option_function<std::string>("--loss", read_loss, "Of packets, both ways, by chance")
      ->type_name("SHARE")
      ->default_str("0");
  command->add_option("--seed", options.seed, "Of chance")->type_name("N")->capture_default_str();
  command->add_option("--timeout", options.timeout, "Local ACK timeout: 4.096 us x 2^N; 0: never")
      ->check(CLI::Range(0u, 31u))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--retries", options.retries, "Before a QP gives up")
      ->check(CLI::Range(0u, 7u))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--adaptive", options.adaptive,
                    "Adaptive retransmission: the timeout follows the measured round trip");
  command->add_flag("--selective-repeat", options.selective, "Instead of go-back-N");
}

}  // namespace

void add_perf_command(CLI::App& program, Command& chosen) {
  CLI::App* command =
      program.add_subcommand("perf", "Measure RDMA as perftest does, over a simulated path");
  auto options = std::make_shared<PerfCommand>();
  command->add_flag("--sim", options->sim, "In virtual time, on no port: what there is so far")
      ->required();
  command->add_option("--pattern", options->pattern, "bw: one way; lat: ping-pong, or a READ")
      ->check(CLI::IsMember({"bw", "lat"}))
      ->type_name("PATTERN")
      ->capture_default_str();
  add_perf_options(command, options->options);
  command->add_flag("-a,--all", options->all_sizes, "Every power of two, 2 B to 8 MiB");
  command
      ->add_option("-n,--iterations", options->iterations,
                   "Messages a QP; 0: bw as many as a steady rate needs, lat 1000")
      ->type_name("N")
      ->capture_default_str();
  add_recovery_options(command, *options);
  command->add_option("--pcap", options->pcap, "Write both ports' frames down as pcapng; with -n")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "One line of JSON a size");
  command->footer(kFooter);
  command->callback([&chosen, options] {
    const bool endless = options->iterations == 0 || options->all_sizes;
    if (!options->pcap.empty() && endless) {
      throw CLI::ValidationError("--pcap", "goes with -n and one size: every frame is kept");
    }
    chosen = [options] { return perf(*options); };
  });
}

}  // namespace lw::gen
