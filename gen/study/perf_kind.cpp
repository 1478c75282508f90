// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/perf_kind.h"

#include "gen/perf/report/perf_report.h"
#include "gen/perf/report/plan.h"

namespace lw::gen::experiment {
namespace {

/// What go-back-N costs by the closed formula (1 - p) / (1 - p + p W), W packets being sent in a
/// round trip: beside the simulated efficiency, which knows nothing of it.
report::Json law_of(const sim::PerfConfig& config) {
  const double p = config.path.loss, w = plan(config).window_packets;
  return {{"losses_a_round_trip", p * w}, {"law_efficiency", (1 - p) / (1 - p + p * w)}};
}

report::Json run(const sim::PerfConfig& config, bool latency) {
  PerfOutcome outcome;
  outcome.where = {{"one_way_ns", config.path.one_way.count()}, {"rate_bps", config.nic.rate_bps}};
  if (latency) {
    outcome.latency = sim::run_latency(config);
    return latency_values(config, outcome);
  }
  outcome.bandwidth = sim::run_bandwidth(config);
  report::Json json = bandwidth_values(config, outcome);
  json["efficiency"] = outcome.bandwidth.efficiency();
  if (config.path.loss > 0) json.update(law_of(config));
  return json;
}

}  // namespace

void PerfKind::add_options(app::Options& options) {
  add_perf_options(options, options_);
  add_run_options(options, options_);
}

Result<Work> PerfKind::work() {
  const auto config = perf_config(options_);
  if (!config) return std::unexpected(config.error());
  const bool latency = options_.pattern == "lat" || options_.pattern == "ping";
  return Work{.by_chance = by_chance(*config),
              .run = [config = *config, latency](std::uint64_t seed) {
                sim::PerfConfig seeded = config;
                seeded.path.seed = seed;
                return run(seeded, latency);
              }};
}

}  // namespace lw::gen::experiment
