// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/incast_kind.h"

#include <algorithm>

#include "core/quantity.h"
#include "gen/commands/options.h"

namespace lw::gen::experiment {
namespace {

report::Json values_of(const sim::IncastResult& result) {
  report::Json samples = report::Json::array();
  for (const sim::IncastSample& sample : result.samples)
    samples.push_back({{"time_ms", static_cast<double>(to_ns(sample.at)) / 1e6},
                       {"flow", sample.sender + 1},
                       {"goodput_gbps", sample.goodput_bps / 1e9},
                       {"allowed_gbps", sample.allowed_bps / 1e9}});
  const auto [least, most] = std::ranges::minmax_element(result.flow_bps);
  return {{"total_gbps", result.total_bps() / 1e9},
          {"fairness", result.fairness()},
          {"slowest_flow_gbps", *least / 1e9},
          {"fastest_flow_gbps", *most / 1e9},
          {"packets", result.packets},
          {"retransmitted", result.retransmitted},
          {"timeouts", result.timeouts},
          {"failed", result.failed},
          {"cnps", result.cnps},
          {"marked", result.line.marked},
          {"lost", result.line.lost},
          {"tail_dropped", result.line.tail_dropped},
          {"rates", samples}};
}

}  // namespace

void IncastKind::add_options(CLI::App& command) {
  add_perf_options(&command, options_);
  add_run_options(&command, options_);
  command.add_option("--senders", incast_.senders, "Hosts that send")
      ->check(CLI::Range(1U, 4096U))
      ->type_name("N")
      ->capture_default_str();
  add_quantity(&command, "--sample", parse_duration, incast_.sample, "Of the rates")
      ->type_name("TIME")
      ->default_str("1ms");
  add_quantity(&command, "--start-within", parse_duration, incast_.start_within,
               "Each sender begins at an instant of its own before this")
      ->type_name("TIME")
      ->default_str("1ms");
  command
      .add_option("--clock-ppm", incast_.clock_ppm, "Senders' clocks are off by as much at most")
      ->check(CLI::Range(0.0, 1000.0))
      ->type_name("PPM")
      ->capture_default_str();
}

Result<Work> IncastKind::work() {
  auto config = perf_config(options_);
  if (!config) return std::unexpected(config.error());
  const bool carries =
      config->operation == wire::Operation::send || config->operation == wire::Operation::write;
  if (!carries) return fail("an incast is of op = write or send");
  incast_.perf = *config;
  if (incast_.sample <= Duration{}) return fail("--sample: expected more than 0");
  if (config->duration < 2 * incast_.sample)
    return fail("an incast needs a duration of two samples at least");
  const bool draws = incast_.start_within > Duration{} || incast_.clock_ppm > 0;
  return Work{.by_chance = draws || by_chance(*config),
              .run = [incast = incast_](std::uint64_t seed) {
                sim::IncastConfig seeded = incast;
                seeded.perf.path.mishaps.seed = seed;
                return values_of(sim::run_incast(seeded));
              }};
}

}  // namespace lw::gen::experiment
