// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/network_options.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "config/toml/profile_search.h"
#include "core/quantity.h"

namespace lw::gen {

void add_network_options(app::Options& options, NetworkOptions& network) {
  options.add("--network", app::profile(network.network, {config::kNetworkProfiles}), "PROFILE",
              "hosts, switches and links, and what the hosts send; in place of a path");
  add_sampling_options(options, network);
}

void add_sampling_options(app::Options& options, NetworkOptions& network) {
  options
      .add("--sample", app::parsed(parse_duration, network.sample), "TIME",
           "of a network: interval between samples of the switches' ports")
      .defaults_to("1ms");
  options
      .add("--warm-up", app::parsed(parse_duration, network.warm_up), "TIME",
           "of a network: time at the start that rates and queues leave out")
      .defaults_to("half of --duration; none with `messages`");
}

namespace {

/// Refuses options for which a network has no place.
Result<void> check_options(const PerfOptions& options) {
  const std::pair<bool, const char*> refused[] = {
      {!options.path.empty(), "--path"},      {options.delay.has_value(), "--delay"},
      {options.km.has_value(), "--distance"}, {options.path_buffer.has_value(), "--path-buffer"},
      {options.loss.has_value(), "--loss"},   {options.mark.has_value(), "--mark"}};
  for (const auto& [given, name] : refused)
    if (given)
      return fail(std::string(name) + " does not go with --network, which says what lies between");
  if (options.pattern != perf::PerfPattern::bw)
    return fail("--network goes with --pattern bw: [workload] says who sends");
  if (options.config.iterations > 0)
    return fail("--network goes with --duration: [workload] has `messages`");
  return {};
}

/// Refuses more random flows than a run holds in memory: each needs about 100 bytes.
Result<void> check_flows(const NetworkFile& file, const perf::PerfConfig& perf) {
  constexpr double kMostFlows = 20e6;
  double rate_bps = 0, flows = 0;
  for (const sim::CableConfig& cable : file.topology.cables)
    rate_bps = std::max(rate_bps, cable.rate_bps);
  for (const sim::Sending& sending : file.workload.sendings) {
    if (sending.load == 0) continue;
    double weights = 0, bytes = 0;
    for (const sim::SizeShare& size : sending.sizes) {
      weights += size.weight;
      bytes += size.weight * size.bytes;
    }
    const std::size_t senders =
        sending.senders.empty() ? file.topology.hosts.size() : sending.senders.size();
    flows += static_cast<double>(senders) * sending.load * rate_bps / 8 * weights / bytes *
             static_cast<double>(perf.duration.count()) * 1e-9;
  }
  if (flows <= kMostFlows) return {};
  return fail(
      fmt::format("--duration: expected a time with at most {:.0f} million flows, found "
                  "about {:.0f} million",
                  kMostFlows / 1e6, flows / 1e6));
}

}  // namespace

Result<NetworkSetup> network_run_of(const NetworkOptions& options,
                                    const PerfOptions& perf_options) {
  if (options.network.empty()) return fail("--network: expected a file");
  if (const auto checked = check_options(perf_options); !checked)
    return std::unexpected(checked.error());
  constexpr bool kWithPath = false;
  auto config_or = perf_config(perf_options, kWithPath);
  if (!config_or) return std::unexpected(config_or.error());
  perf::PerfConfig& perf = *config_or;
  auto file = load_network(options.network, perf_options.nic, perf);
  if (!file) return std::unexpected(file.error());
  if (!perf.sends_data()) return fail("--network goes with --op write and send");
  if (perf.both) return fail("--network goes without --bidirectional");
  if (perf.duration <= Duration{}) return fail("--network: expected a --duration");
  constexpr double kMostSamples = 2e6;
  const double samples = static_cast<double>(perf.duration.count()) /
                         static_cast<double>(std::max<std::int64_t>(options.sample.count(), 1)) *
                         2 * static_cast<double>(file->topology.cables.size());
  if (options.sample <= Duration{} || samples > kMostSamples)
    return fail("--sample: expected a time that gives at most 2 million samples of ports");
  if (perf.duration < options.sample) return fail("--duration: expected one --sample at least");
  if (options.warm_up >= perf.duration) return fail("--warm-up: expected less than the --duration");
  if (const auto checked = check_flows(*file, perf); !checked)
    return std::unexpected(checked.error());
  sim::NetworkRunConfig config{.topology = file->topology,
                               .workload = file->workload,
                               .jobs = file->jobs,
                               .perf = perf,
                               .sample = options.sample,
                               .warm_up = options.warm_up,
                               .threads = options.cores != 0
                                              ? options.cores
                                              : std::max(1u, std::thread::hardware_concurrency())};
  const bool ends = !config.jobs.empty() ||
                    std::ranges::any_of(config.workload.sendings,
                                        [](const sim::Sending& each) { return each.messages > 0; });
  if (config.warm_up == Duration{} && !ends) config.warm_up = perf.duration / 2;
  return NetworkSetup{std::move(*file), std::move(config)};
}

}  // namespace lw::gen
