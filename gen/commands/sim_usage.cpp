// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/names.h"
#include "gen/commands/sim_command.h"
#include "gen/perf/report/perf_files.h"

namespace lw::gen {
namespace {

using app::Given;
using perf::PerfPattern;

Conflicts conflicts_in_simulation(const Given& given, const SimCommand& command) {
  const bool judged = given.has("--expect") || given.has("--junit") || given.has("--html");
  const bool endless = command.config().iterations == 0 || command.all_sizes;
  return {{command.options.pattern != PerfPattern::blast, {"--study"}, "goes with --pattern blast"},
          {judged,
           {"--study"},
           "goes without --expect, --junit and --html: its rows are no final figures"},
          {given.has("--study"), {"--live", "--interval"}, "goes without --study"},
          {given.has("--live"), {"--interval"}, "goes without --live"},
          {!given.has("--pcap"), {"--pcap-at"}, "goes with --pcap FILE"},
          {endless && !command.on_network(),
           {"--pcap"},
           "goes with -n and one size: every frame is kept in memory"}};
}

/// What goes with a network, or with a path only.
Conflicts conflicts_of_network(const Given& given, const SimCommand& command) {
  const bool network = command.on_network();
  return {{given.has("NETWORK"), {"--network"}, "NETWORK names one already"},
          {!network, {"--sample", "--warm-up", "--draw"}, "goes with --network"},
          {given.has("--draw"),
           {"--duration"},
           "goes without --draw: --html has the network with its use"},
          {network, {"--interval"}, "with --network, --sample has this meaning"},
          {network, {"--qps"}, "with --network, [workload] has `qps`"},
          {network,
           {"--all", "--forever", "--study", "--live", "--sweep"},
           "does not go with --network"}};
}

/// Checks names of points of a path.
Result<void> check_points(const std::vector<std::string>& points) {
  for (const std::string& point : points)
    if (std::ranges::find(kCapturePoints, point) == kCapturePoints.end())
      return refuse("--pcap-at", fmt::format("expected {}, found \"{}\"",
                                             fmt::join(kCapturePoints, ", "), point));
  return {};
}

/// Checks the number of requests that are posted at once. One takes 101 bytes.
Result<void> check_posted(const perf::PerfConfig& config) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 26;
  const std::uint64_t depth = config.qp.tx_depth;
  const std::uint64_t each =
      config.iterations == 0 ? depth : std::min<std::uint64_t>(depth, config.iterations);
  if (each * config.qps <= kMost) return {};
  return refuse("--tx-depth", fmt::format("{} QPs with {} requests each: expected up to {} "
                                          "requests at once, which take 7 GB of memory",
                                          config.qps, each, kMost));
}

}  // namespace

Result<void> check_usage(const Given& given, const SimCommand& command) {
  if (command.options.common())
    return refuse(fmt::format("--pattern {}", name_of(command.options.pattern)),
                  "is measured in real time: roce-gen perf --port");
  for (const Conflicts& conflicts :
       {shared_conflicts(given, command), conflicts_in_simulation(given, command),
        conflicts_of_network(given, command)})
    if (auto fits = check_conflicts(given, conflicts); !fits) return fits;
  if (auto known = command.verdicts.check(command.judged_output()); !known) return known;
  if (const auto plain = check_file_name(command.pcap, true); !plain)
    return refuse("--pcap", plain.error().message);
  if (auto fits = check_posted(command.config()); !fits) return fits;
  return command.on_network() ? Result<void>{} : check_points(command.points);
}

}  // namespace lw::gen
