// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "gen/perf/plan/early_expiry.h"
#include "gen/perf/plan/losses.h"
#include "gen/perf/plan/lossless.h"
#include "gen/perf/plan/verdict.h"

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
    case PlanLimit::none:
      return "every QP breaks";
  }
  return "";
}

Plan plan(const perf::PerfConfig& config) {
  Plan plan;
  const Quantities given = quantities_of(config);
  const double line = config.path.rate_bps > 0 ? config.path.rate_bps : config.nic.rate_bps;
  plan.round_trip = round_trip_of(config);
  const auto round_trip_ns = static_cast<double>(plan.round_trip.count());
  plan.bdp_bytes = round_trip_ns * line / 8e9;
  plan.goodput_bps = 8e9 * config.size / given.line_message;
  const double cycle = given.round_trip + given.message;
  plan.needed = static_cast<std::uint64_t>(std::ceil(cycle / given.message));
  const double messages = std::max(1.0, std::floor(given.window() / given.packets));
  plan.configured = static_cast<std::uint64_t>(messages) * config.qps;
  plan.qps_needed = (plan.needed * config.qps + plan.configured - 1) / plan.configured;
  const double lossless = lossless_rate(given, config);
  plan.lossless_bps = throughput_of(config, given, lossless, 0);
  plan.throughput_bps = throughput_of(config, given, lossless, config.path.loss);
  const bool fills = fills_link(given, lossless);
  plan.limit = fills ? PlanLimit::line : given.limit;
  if (fills && given.message > given.line_message) plan.limit = PlanLimit::receiver;
  plan.window_packets = plan.lossless_bps / 8e9 / config.size * given.packets * round_trip_ns;
  plan.loss_for_90_percent = loss_for_a_tenth(config, given, lossless);
  const EarlyExpiry early = early_expiry(config, given, lossless);
  plan.breaks = breaks_because(config, given, early);
  if (!plan.breaks.empty()) plan.lossless_bps = 0;
  if (plan.breaks.empty() && config.path.loss > 0 && config.qp.retry_count == 0 &&
      config.qp.recovery == transport::LossRecovery::go_back_n)
    plan.breaks = "with --retries 0 a QP ends at its first lost packet";
  if (plan.breaks.empty()) {
    plan.unknown = unknown_because(config, given, lossless, early);
  } else {
    plan.limit = PlanLimit::none;
    plan.throughput_bps = plan.loss_for_90_percent = 0;
  }
  return plan;
}

namespace {

std::string_view recovery_text(transport::LossRecovery recovery) noexcept {
  return recovery == transport::LossRecovery::go_back_n ? "go-back-N" : "selective repeat";
}

std::string loss_text(const perf::PerfConfig& config, const Plan& plan) {
  if (!plan.breaks.empty()) return fmt::format("breaks          every QP: {}\n", plan.breaks);
  if (!plan.unknown.empty()) return {};
  std::string text = fmt::format("loss            {:.1e} costs {} a tenth of that\n",
                                 plan.loss_for_90_percent, recovery_text(config.qp.recovery));
  if (config.path.loss > 0)
    text += fmt::format("with losses     {} at a loss of {:.3g}, {:.1f} % of that\n",
                        format_bit_rate(plan.throughput_bps), config.path.loss,
                        100 * plan.throughput_bps / plan.lossless_bps);
  return text;
}

}  // namespace

std::string plan_text(const perf::PerfConfig& config, const Plan& plan,
                      const std::string& command) {
  std::string text = fmt::format(
      "round trip      {} ({} there, {} back, {} in each host and NIC, each way)\n"
      "in flight       {} fill a round trip of {}\n"
      "line            carries {} of payload in {} messages of {} B\n",
      format_set_duration(plan.round_trip), format_set_duration(config.path.one_way),
      format_set_duration(config.path.way_back.value_or(config.path.one_way)),
      format_set_duration(config.nic.latency), format_bytes(plan.bdp_bytes),
      format_bit_rate(config.nic.rate_bps), format_bit_rate(plan.goodput_bps),
      wire::name_of(config.operation), config.size);
  text += fmt::format(
      "to fill it      {} outstanding: {} of {} each, or one with a tx depth{} of {}\n"
      "configured      {}, {} outstanding in all: {}\n"
      "what binds      {}\n",
      counted(plan.needed, "message"), counted(plan.qps_needed, "QP"), plan.configured / config.qps,
      config.fetches() ? " and READs" : " and window", plan.needed, counted(config.qps, "QP"),
      counted(plan.configured, "message"),
      plan.unknown.empty() ? format_bit_rate(plan.lossless_bps) : "not known",
      plan.unknown.empty() ? name_of(plan.limit) : "not known");
  text += loss_text(config, plan);
  if (!plan.unknown.empty())
    text += fmt::format("simulate        {}\n                as no formula holds: {}\n", command,
                        plan.unknown);
  return text;
}

void observe_plan(Judge& judge, const Plan& plan) {
  Observation model{.name = "model", .text = "a formula holds", .count = 1};
  if (plan.unknown.empty()) {
    model.value = 0;
  } else {
    model.text = "no formula holds for this configuration";
    model.unsure = plan.unknown;
    model.remedy = "simulate it: sim with the same options";
  }
  judge.add(model);
  judge.add({.name = "breaks",
             .value = plan.breaks.empty() ? 0 : 1,
             .text = plan.breaks.empty() ? "no QP breaks"
                                         : fmt::format("every QP breaks: {}", plan.breaks),
             .count = 1});
}

namespace {

/// A figure of the model; nothing where no formula holds.
template <auto value>
auto if_known(const PlanReport& r) {
  using Value = decltype(std::invoke(value, r.plan));
  return r.plan.unknown.empty()
             ? std::optional<std::remove_cvref_t<Value>>(std::invoke(value, r.plan))
             : std::nullopt;
}

}  // namespace

const FigureTable& PlanReport::figures() {
  using Row = FigureOf<PlanReport>;
  static constexpr Figure kRows[] = {
      Row::of<[](const PlanReport& r) { return wire::name_of(r.config.operation); }>(
          "operation", "RDMA operation."),
      Row::of<[](const PlanReport& r) { return r.config.size; }>("bytes", "Message size, in bytes.",
                                                                 Unit::bytes),
      Row::of<[](const PlanReport& r) { return recovery_text(r.config.qp.recovery); }>(
          "recovery", "Recovery from loss."),
      Row::of<[](const PlanReport& r) { return r.config.path.loss; }>(
          "loss", "Share of packets that the path loses, 0 to 1."),
      Row::of<[](const PlanReport& r) { return r.plan.round_trip; }>("round_trip_ns", "Round trip.",
                                                                     Unit::ns),
      Row::of<[](const PlanReport& r) { return r.plan.bdp_bytes; }>(
          "bdp_bytes", "Bytes that fill a round trip.", Unit::bytes),
      Row::of<[](const PlanReport& r) { return r.plan.goodput_bps / 1e9; }>(
          "goodput_gbps", "Payload that the line carries.", Unit::gbps),
      Row::of<[](const PlanReport& r) { return r.plan.needed; }>(
          "messages_needed", "Messages outstanding that fill it."),
      Row::of<[](const PlanReport& r) { return r.plan.configured; }>(
          "messages_configured", "Messages outstanding of the settings."),
      Row::of<[](const PlanReport& r) { return r.plan.qps_needed; }>(
          "qps_needed", "QPs needed with the configured depth."),
      Row::of<if_known<[](const Plan& plan) { return plan.lossless_bps / 1e9; }>>(
          "lossless_gbps", "Throughput without loss; null where no formula holds.", Unit::gbps)
          .or_null(),
      Row::of<if_known<[](const Plan& plan) { return plan.throughput_bps / 1e9; }>>(
          "throughput_gbps", "Throughput with the loss; null where no formula holds.", Unit::gbps)
          .or_null(),
      Row::of<if_known<&Plan::limit>>("limit",
                                      "What limits the throughput; null where no formula holds.")
          .or_null(),
      Row::of<if_known<&Plan::window_packets>>(
          "window_packets", "Packets outstanding of all QPs; null where no formula holds.")
          .or_null(),
      Row::of<if_known<&Plan::loss_for_90_percent>>(
          "loss_for_90_percent",
          "Loss that costs a tenth of the throughput, 0 to 1; null where no formula holds.")
          .or_null(),
      Row::of<[](const PlanReport& r) { return !r.plan.unknown.empty(); }>(
          "simulate", "True if no formula holds: sim gives the figure."),
      Row::of<[](const PlanReport& r) { return r.plan.unknown; }>(
          "simulate_because", "Why no formula holds; empty if one does."),
      Row::of<[](const PlanReport& r) { return r.plan.breaks; }>(
          "breaks_because", "Why every QP breaks and carries nothing; empty if none does.")};
  static constexpr FigureTable kTable{"What fills a path, and what limits the throughput.", kRows};
  return kTable;
}

}  // namespace lw::gen
