// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/incast_kind.h"

#include <algorithm>

#include "core/quantity.h"

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
          {"marked", result.link.marked},
          {"lost", result.link.lost},
          {"tail_dropped", result.link.tail_dropped},
          {"rates", samples}};
}

}  // namespace

void IncastKind::add_options(app::Options& options) {
  add_perf_options(options, options_);
  add_run_options(options, options_);
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
                seeded.perf.path.seed = seed;
                return values_of(sim::run_incast(seeded));
              }};
}

}  // namespace lw::gen::experiment
