// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "gen/perf/plan/windows.h"

namespace lw::gen {

using namespace planning;

std::string_view name_of(PlanLimit limit) noexcept {
  switch (limit) {
    case PlanLimit::line:
      return "line";
    case PlanLimit::receiver:
      return "receiver";
    case PlanLimit::tx_depth:
      return "tx depth";
    case PlanLimit::outstanding_wqes:
      return "outstanding work requests";
    case PlanLimit::reads:
      return "outstanding READs";
    case PlanLimit::psn_window:
      return "PSN window";
    case PlanLimit::messages:
      return "time between messages";
    case PlanLimit::none:
      return "nothing gets through";
  }
  return "";
}

std::optional<double> Plan::window_packets(const perf::PerfConfig& config) const {
  if (!lossless.known()) return std::nullopt;
  const double packets = windows_of(config).packets;
  return lossless.bps / 8e9 / config.size * packets * static_cast<double>(round_trip.count());
}

namespace {

/// Which limit the rate without losses has reached.
PlanLimit limit_of(const Windows& windows, const Plan& plan,
                   const perf::PerfConfig& config) noexcept {
  constexpr double kFull = 0.999, kNearly = 0.99;
  if (plan.lossless.bps <= 0) return PlanLimit::none;
  const bool receiver = windows.message > windows.line_message;
  const double most = plan.goodput_bps * windows.line_message / windows.message;
  const double of_qps = windows.qps * 8e9 * config.size / windows.qp_message;
  if (plan.lossless.bps < kFull * most)
    return of_qps < most && plan.lossless.bps > kNearly * of_qps ? PlanLimit::messages
                                                                 : windows.limit;
  return receiver ? PlanLimit::receiver : PlanLimit::line;
}

/// Whether a run went as its windows and its line say: nothing was sent twice, or dropped.
bool went_smoothly(const perf::BandwidthResult& run) noexcept {
  return run.failed == 0 && run.retransmitted == 0 && run.there.tail_dropped == 0 &&
         run.back.tail_dropped == 0;
}

/// The rate of a simulated run, or why it has none.
PlanRate rate_of(const perf::BandwidthResult& run, bool by_chance, std::uint64_t most_packets) {
  const auto unknown = [](std::string why) { return PlanRate{.unknown = std::move(why)}; };
  if (run.stopped) return unknown("a signal ended the simulated run");
  if (run.failed > 0 && run.messages == 0) return {.source = PlanSource::simulated};
  if (run.failed > 0) return unknown("QPs break during the simulated run");
  if (run.stuck_qps > 0)
    return unknown(
        fmt::format("{} for ever in the simulated run: a packet was lost, no later one "
                    "shows it, and --timeout 0 sets no timer",
                    run.stuck_qps == 1 ? "a QP waits" : "QPs wait"));
  if (run.steady_bps <= 0 || (by_chance && !run.steady_interval))
    return unknown(fmt::format("a simulated run of {} has no steady rate (--most-packets)",
                               format_count(most_packets, "packet")));
  return {.source = PlanSource::simulated, .bps = run.steady_bps, .interval = run.steady_interval};
}

/// Simulated runs of a plan.
class PlanRuns {
 public:
  PlanRuns(const perf::PerfConfig& config, const sim::PerfHook& hook)
      : config_(config), hook_(hook) {}

  /// Why the configuration, with so many packets in flight, is not simulated; empty: it is.
  [[nodiscard]] std::string refusal(double in_flight) const {
    const double qps = config_.qps;
    const std::string posted =
        too_many("work requests posted at once", qps * config_.qp.tx_depth, kMostPlannedRequests);
    if (!posted.empty()) return posted;
    return too_many("packets on the path at once", std::min(in_flight, qps * config_.qp.psn_window),
                    kMostPlannedInFlight);
  }
  [[nodiscard]] std::uint64_t most_packets() const noexcept { return config_.most_packets; }
  [[nodiscard]] perf::BandwidthResult run(double loss) const {
    perf::PerfConfig config = config_;
    config.path.loss = loss;
    return sim::run_bandwidth(config, hook_);
  }

 private:
  static std::string too_many(std::string_view things, double count, std::uint64_t most) {
    if (count <= static_cast<double>(most)) return {};
    return fmt::format("{} {} are more than the {} that plan simulates: roce-gen sim takes more",
                       format_count(static_cast<std::uint64_t>(count)), things, format_count(most));
  }

  const perf::PerfConfig& config_;
  const sim::PerfHook& hook_;
};

/// Notes how work requests fail, unless that is noted.
void note_failure(Plan& plan, const perf::BandwidthResult& run) {
  if (run.failed == 0 || !run.failure || !plan.breaks.empty()) return;
  plan.breaks = fmt::format("work requests fail in the simulated run, the first after {}: {}",
                            format_duration(run.failure->at - Instant{}),
                            transport::name_of(run.failure->status));
}

/// Simulates the rate without losses. A path that loses by its rules has none.
void simulate_lossless(Plan& plan, const perf::PerfConfig& config, const PlanRuns& runs) {
  if (config.path.rules && config.path.rules->by_chance()) {
    plan.lossless.unknown = "the path's rules draw random numbers in any case";
    return;
  }
  const perf::BandwidthResult run = runs.run(0);
  plan.lossless = rate_of(run, false, config.most_packets);
  note_failure(plan, run);
  if (plan.lossless.known() && (went_smoothly(run) || plan.lossless.bps == 0))
    plan.limit = limit_of(windows_of(config), plan, config);
}

/// Whether a loss costs more, or less, than down to `goal`; nothing: the interval holds it, or
/// there is none.
std::optional<bool> costs_more(const PlanRuns& runs, double loss, double goal) {
  const perf::BandwidthResult run = runs.run(loss);
  if (run.failed > 0 || run.stuck_qps > 0) return true;
  const PlanRate rate = rate_of(run, true, runs.most_packets());
  if (!rate.interval) return std::nullopt;
  if (rate.interval->high < goal) return true;
  if (rate.interval->low > goal) return false;
  return std::nullopt;
}

/// Searches the two losses, at steps of a factor of 2 from a first guess.
std::optional<LossRange> find_tenth(const perf::PerfConfig& config, const Plan& plan,
                                    const PlanRuns& runs) {
  constexpr double kGoal = 0.9, kLeast = 1e-8;
  constexpr int kMostRuns = 24;
  if (!plan.lossless.known() || plan.lossless.bps <= 0) return std::nullopt;
  const double goal = kGoal * plan.lossless.bps;
  const double guess = std::clamp((1 / kGoal - 1) / std::max(plan.in_flight, 1.0), kLeast, 0.25);
  LossRange range;
  double up = guess, down = guess / 2;
  for (int i = 0; i < kMostRuns && !config.stopped(); ++i) {
    const bool upwards = range.high == 0 && up <= 0.5;
    if (!upwards && (range.low > 0 || down < kLeast)) break;
    double& at = upwards ? up : down;
    const auto more = costs_more(runs, at, goal);
    if (more == true) range.high = range.high == 0 ? at : std::min(range.high, at);
    if (more == false) range.low = std::max(range.low, at);
    at *= upwards ? 2 : 0.5;
  }
  if (range.low == 0 || range.high == 0) return std::nullopt;
  return range;
}

}  // namespace

Plan computed_plan(const perf::PerfConfig& config) {
  Plan plan;
  const Windows windows = windows_of(config);
  const double line = config.path.rate_bps > 0 ? config.path.rate_bps : config.nic.rate_bps;
  plan.round_trip = round_trip_of(config);
  plan.bdp_bytes = static_cast<double>(plan.round_trip.count()) * line / 8e9;
  plan.goodput_bps = 8e9 * config.size / windows.line_message;
  plan.needed = static_cast<std::uint64_t>(std::ceil(windows.cycle / windows.message));
  plan.configured = static_cast<std::uint64_t>(windows.depth) * config.qps;
  const auto between = static_cast<std::uint64_t>(std::ceil(windows.qp_message / windows.message));
  plan.qps_needed =
      std::max(between, (plan.needed * config.qps + plan.configured - 1) / plan.configured);
  plan.in_flight = packets_in_flight(config, windows);
  if (const auto rate = exact_rate(config, windows)) {
    plan.lossless = {.source = PlanSource::computed, .bps = *rate};
    plan.limit = limit_of(windows, plan, config);
    if (!by_chance(config)) plan.throughput = plan.lossless;
  }
  return plan;
}

Plan plan(const perf::PerfConfig& config, bool find_loss, const sim::PerfHook& hook) {
  Plan plan = computed_plan(config);
  const PlanRuns runs(config, hook);
  if (const std::string refused = runs.refusal(plan.in_flight); !refused.empty()) {
    for (PlanRate* rate : {&plan.lossless, &plan.throughput})
      if (!rate->known()) rate->unknown = refused;
    return plan;
  }
  if (!plan.lossless.known()) simulate_lossless(plan, config, runs);
  if (!by_chance(config)) {
    plan.throughput = plan.lossless;
  } else {
    const perf::BandwidthResult run = runs.run(config.path.loss);
    plan.throughput = rate_of(run, true, config.most_packets);
    note_failure(plan, run);
  }
  if (find_loss) plan.tenth = find_tenth(config, plan, runs);
  return plan;
}

}  // namespace lw::gen
