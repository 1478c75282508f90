// SPDX-License-Identifier: BSD-3-Clause
#include "gen/experiment/run_kind.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/experiment/vm_migration.h"
#include "gen/network/network_options.h"
#include "gen/network/network_report.h"
#include "gen/perf/options/perf_options.h"
#include "gen/perf/plan/plan.h"
#include "gen/perf/report/perf_report.h"
#include "sim/incast.h"

namespace lw::gen::experiment {
namespace {

/// Returns the efficiency of go-back-N by the closed formula (1 - p) / (1 - p + p W), for
/// comparison with the simulation. W is the number of packets sent in a round trip.
report::Json law_of(const perf::PerfConfig& config) {
  const double p = config.path.loss, w = computed_plan(config).in_flight;
  return {{"losses_a_round_trip", p * w}, {"law_efficiency", (1 - p) / (1 - p + p * w)}};
}

/// Adds the names of a table's figures.
void add_names(report::Json& names, const FigureTable& table) {
  for (const Figure& row : table.rows) {
    if (row.name.empty())
      add_names(names, row.type->table());
    else
      names[std::string(row.name)] = nullptr;
  }
}

/// Adds the failure of a run: "retry exceeded, QP 0 of host 0, 4.3 s after the start".
void add_failure(report::Json& json, const std::optional<perf::Failure>& failure) {
  if (!failure) return;
  json["failure"] =
      fmt::format("{}, QP {} of host {}, {} after the start", transport::name_of(failure->status),
                  failure->qp, failure->host, format_duration(failure->at - Instant{}));
  json["failed_at_ns"] = to_ns(failure->at);
}

report::Json run(const perf::PerfConfig& config, bool latency, const sim::PerfHook& hook) {
  PerfOutcome outcome;
  if (latency) {
    outcome.latency = sim::run_latency(config, hook);
    report::Json json = perf_values({config, outcome, perf::PerfPattern::lat});
    add_failure(json, outcome.latency.failure);
    return json;
  }
  outcome.bandwidth = sim::run_bandwidth(config, hook);
  report::Json json = perf_values({config, outcome, perf::PerfPattern::bw});
  json["efficiency"] = outcome.bandwidth.efficiency();
  if (config.path.loss > 0) json.update(law_of(config));
  add_failure(json, outcome.bandwidth.failure);
  return json;
}

/// Kind "perf", as `roce-gen sim`: a bandwidth or latency run between two hosts. Its figures
/// are those of perf's --json.
class PerfKind : public RunKind {
 public:
  void add_options(app::Options& options) override;
  Result<Work> work() override;
  [[nodiscard]] report::Json figures() const override;

 private:
  PerfOptions options_;
};

void PerfKind::add_options(app::Options& options) { add_simulation_parameters(options, options_); }

report::Json PerfKind::figures() const {
  report::Json names = law_of({});
  for (const perf::PerfPattern pattern : {perf::PerfPattern::bw, perf::PerfPattern::lat})
    add_names(names, output_of(pattern).figures());
  for (const char* name : {"efficiency", "failure", "failed_at_ns"}) names[name] = nullptr;
  return names;
}

Result<Work> PerfKind::work() {
  const auto config = perf_config(options_);
  if (!config) return std::unexpected(config.error());
  const bool latency = is_latency(options_.pattern);
  return Work{.by_chance = by_chance(*config),
              .run = [config = *config, latency](std::uint64_t seed, const sim::PerfHook& hook) {
                perf::PerfConfig seeded = config;
                seeded.path.seed = seed;
                return run(seeded, latency, hook);
              }};
}

report::Json values_of(const sim::IncastResult& result) {
  report::Json samples = report::Json::array();
  for (const sim::IncastSample& sample : result.samples)
    samples.push_back({{"time_ms", static_cast<double>(to_ns(sample.at)) / 1e6},
                       {"flow", sample.sender + 1},
                       {"goodput_gbps", sample.goodput_bps / 1e9},
                       {"allowed_gbps", sample.allowed_bps / 1e9}});
  const auto [least, most] = std::ranges::minmax_element(result.flow_bps);
  report::Json json = {{"total_gbps", result.total_bps() / 1e9},
                       {"fairness", result.fairness()},
                       {"slowest_flow_gbps", *least / 1e9},
                       {"fastest_flow_gbps", *most / 1e9},
                       {"packets", result.packets},
                       {"retransmitted", result.retransmitted},
                       {"timeouts", result.timeouts},
                       {"failed", result.failed},
                       {"cnps", result.cnps},
                       {"marked", result.link.marked},
                       {"lost", result.link.lost},
                       {"tail_dropped", result.link.tail_dropped},
                       {"rates", samples}};
  add_failure(json, result.failure);
  return json;
}

/// Kind "incast": several senders to one receiver through one shared path. Its parameters are
/// perf's, and `senders` and `sample`. Its series is each sender's rate over time.
class IncastKind : public RunKind {
 public:
  void add_options(app::Options& options) override;
  Result<Work> work() override;
  [[nodiscard]] report::Json figures() const override {
    sim::IncastResult result;
    result.flow_bps = {0};
    result.samples = {{}};
    return values_of(result);
  }

 private:
  PerfOptions options_;
  sim::IncastConfig incast_;
};

void IncastKind::add_options(app::Options& options) {
  add_simulation_parameters(options, options_);
  options.add("--senders", app::number(incast_.senders, 1u, 4096u), "N", "number of sending hosts");
  options
      .add("--sample", app::parsed(parse_duration, incast_.sample), "TIME",
           "interval between samples of the rates")
      .defaults_to("1ms");
  options
      .add("--start-within", app::parsed(parse_duration, incast_.start_within), "TIME",
           "each sender starts at a random instant before this time")
      .defaults_to("1ms");
  options.add("--clock-ppm", app::number(incast_.clock_ppm, 0.0, 1000.0), "PPM",
              "largest error of a sender's clock, in ppm");
}

Result<Work> IncastKind::work() {
  auto config = perf_config(options_);
  if (!config) return std::unexpected(config.error());
  if (!config->sends_data()) return fail("an incast is of op = write or send");
  incast_.perf = *config;
  if (incast_.sample <= Duration{}) return fail("--sample: expected more than 0");
  if (config->duration < 2 * incast_.sample)
    return fail("an incast needs a duration of two samples at least");
  const bool draws = incast_.start_within > Duration{} || incast_.clock_ppm > 0;
  return Work{.by_chance = draws || by_chance(*config),
              .run = [incast = incast_](std::uint64_t seed, const sim::PerfHook& hook) {
                sim::IncastConfig seeded = incast;
                seeded.perf.path.seed = seed;
                return values_of(sim::run_incast(seeded, hook));
              }};
}

/// Kind "network": the workload of a network file. Its parameters are perf's, and `network`,
/// `sample` and `warm_up`. Its series is the switches' ports over time.
class NetworkKind : public RunKind {
 public:
  void add_options(app::Options& options) override;
  Result<Work> work() override;
  [[nodiscard]] report::Json figures() const override { return network_names(); }

 private:
  PerfOptions options_;
  NetworkOptions network_;
};

void NetworkKind::add_options(app::Options& options) {
  add_simulation_parameters(options, options_);
  add_network_options(options, network_);
}

Result<Work> NetworkKind::work() {
  auto run = network_run_of(network_, options_);
  if (!run) return std::unexpected(run.error());
  return Work{.by_chance = true,
              .has_packets = false,
              .run = [run = *run](std::uint64_t seed, const sim::PerfHook&) {
                sim::NetworkRunConfig seeded = run.config;
                seeded.perf.path.seed = seed;
                const sim::NetworkResult result = sim::run_network(seeded);
                report::Json json = network_values({run.file, seeded, result});
                add_failure(json, result.failure);
                return json;
              }};
}

}  // namespace

std::unique_ptr<RunKind> make_run_kind(std::string_view name) {
  if (name == "perf") return std::make_unique<PerfKind>();
  if (name == "incast") return std::make_unique<IncastKind>();
  if (name == "network") return std::make_unique<NetworkKind>();
  if (name == "vm-migration") return make_vm_migration();
  return nullptr;
}

const std::vector<std::string_view>& run_kinds() {
  static const std::vector<std::string_view> kKinds = {"perf", "incast", "network", "vm-migration"};
  return kKinds;
}

}  // namespace lw::gen::experiment
