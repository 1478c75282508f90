// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/plan/plan_report.h"

#include <cmath>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"

namespace lw::gen {
namespace {

std::string_view recovery_text(const perf::PerfConfig& config) noexcept {
  const bool back = config.qp.recovery == transport::LossRecovery::go_back_n;
  return back ? "go-back-N" : "selective repeat";
}

/// Where a rate is from: "computed", or "simulated, 95 % interval 61.20 to 62.70 Gb/s".
std::string source_text(const PlanRate& rate) {
  if (rate.source == PlanSource::computed) return "computed";
  if (!rate.interval) return "simulated";
  return fmt::format("simulated, 95 % interval {:.2f} to {:.2f} Gb/s", rate.interval->low / 1e9,
                     rate.interval->high / 1e9);
}

/// "70.37 Gb/s, computed", or why it is not known.
std::string plan_rate_text(const PlanRate& rate) {
  if (!rate.known()) return "not known: " + rate.unknown;
  return fmt::format("{}, {}", format_bit_rate(rate.bps), source_text(rate));
}

std::string loss_text(const perf::PerfConfig& config, const Plan& plan) {
  std::string text;
  if (!plan.breaks.empty()) text += fmt::format("breaks          {}\n", plan.breaks);
  if (plan.tenth)
    text += fmt::format(
        "loss            a loss between {:.1e} and {:.1e} costs {} a tenth of that, simulated\n",
        plan.tenth->low, plan.tenth->high, recovery_text(config));
  if (!by_chance(config)) return text;
  const bool share = plan.throughput.known() && plan.lossless.known() && plan.lossless.bps > 0;
  return text +
         fmt::format(
             "with losses     {}{}{}\n", plan_rate_text(plan.throughput),
             config.path.loss > 0 ? fmt::format(", at a loss of {:.3g}", config.path.loss) : "",
             share
                 ? fmt::format(", {:.1f} % of that", 100 * plan.throughput.bps / plan.lossless.bps)
                 : "");
}

}  // namespace

void observe_plan(Judge& judge, const Plan& plan) {
  Observation unknown{.name = "unknown", .value = 0, .text = "every figure is known", .count = 1};
  for (const PlanRate* rate : {&plan.lossless, &plan.throughput}) {
    if (rate->known()) continue;
    unknown.value = 1;
    unknown.text = "a figure is neither computed nor simulated: " + rate->unknown;
  }
  judge.add(unknown);
  judge.add(
      {.name = "breaks",
       .value = plan.breaks.empty() ? 0 : 1,
       .text = plan.breaks.empty() ? "no QP breaks" : fmt::format("QPs break: {}", plan.breaks),
       .count = 1});
}

namespace {

/// What one QP needs to fill the link; empty: it may not, as it pauses between messages.
std::string one_qp_text(const perf::PerfConfig& config, const Plan& plan) {
  if (config.qp.message_gap > Duration{}) return {};
  return fmt::format(", or one with a tx depth{} of {}",
                     config.fetches() ? " and READs" : " and window", plan.needed);
}

}  // namespace

std::string plan_text(const perf::PerfConfig& config, const Plan& plan) {
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
      "to fill it      {} outstanding: {} of {} each{}\n"
      "configured      {}, {} outstanding in all: {}\n"
      "what binds      {}\n",
      counted(plan.needed, "message"), counted(plan.qps_needed, "QP"), plan.configured / config.qps,
      one_qp_text(config, plan), counted(config.qps, "QP"), counted(plan.configured, "message"),
      plan_rate_text(plan.lossless), plan.limit ? name_of(*plan.limit) : "not known");
  return text + loss_text(config, plan);
}

namespace {

std::optional<double> gbps_of(const PlanRate& rate) {
  if (!rate.known()) return std::nullopt;
  return rate.bps / 1e9;
}

constexpr std::string_view kSources[] = {"none", "computed", "simulated"};

std::optional<std::string_view> source_of(const PlanRate& rate) {
  if (!rate.known()) return std::nullopt;
  return kSources[static_cast<std::size_t>(rate.source)];
}

/// An end of the throughput's interval.
template <double perf::RateInterval::* end>
std::optional<double> throughput_end(const PlanReport& r) {
  const auto& interval = r.plan.throughput.interval;
  if (!interval) return std::nullopt;
  return (*interval).*end / 1e9;
}

std::optional<double> tenth_of(const PlanReport& r) {
  if (!r.plan.tenth) return std::nullopt;
  return std::sqrt(r.plan.tenth->low * r.plan.tenth->high);
}

/// An end of the range of losses that cost a tenth.
template <double LossRange::* end>
std::optional<double> tenth_end(const PlanReport& r) {
  if (!r.plan.tenth) return std::nullopt;
  return (*r.plan.tenth).*end;
}

}  // namespace

const FigureTable& PlanReport::figures() {
  using Row = FigureOf<PlanReport>;
  static constexpr Figure kRows[] = {
      Row::of<[](const PlanReport& r) { return wire::name_of(r.config.operation); }>(
          "operation", "RDMA operation."),
      Row::of<[](const PlanReport& r) { return r.config.size; }>("bytes", "Message size, in bytes.",
                                                                 Unit::bytes),
      Row::of<[](const PlanReport& r) { return recovery_text(r.config); }>("recovery",
                                                                           "Recovery from loss."),
      Row::of<[](const PlanReport& r) { return r.config.path.loss; }>(
          "loss", "Share of packets that the path loses, 0 to 1."),
      Row::of<[](const PlanReport& r) { return r.plan.round_trip; }>(
          "round_trip_ns", "Round trip, computed.", Unit::ns),
      Row::of<[](const PlanReport& r) { return r.plan.bdp_bytes; }>(
          "bdp_bytes", "Bytes that fill a round trip, computed.", Unit::bytes),
      Row::of<[](const PlanReport& r) { return r.plan.goodput_bps / 1e9; }>(
          "goodput_gbps", "Payload that the line carries, computed.", Unit::gbps),
      Row::of<[](const PlanReport& r) { return r.plan.needed; }>(
          "messages_needed", "Messages outstanding that fill it, computed."),
      Row::of<[](const PlanReport& r) { return r.plan.configured; }>(
          "messages_configured", "Messages outstanding of the settings, computed."),
      Row::of<[](const PlanReport& r) { return r.plan.qps_needed; }>(
          "qps_needed", "QPs needed with the configured depth, computed."),
      Row::of<[](const PlanReport& r) { return gbps_of(r.plan.lossless); }>(
          "lossless_gbps",
          "Throughput without loss; null where it is neither computed nor simulated.", Unit::gbps)
          .or_null(),
      Row::of<[](const PlanReport& r) { return source_of(r.plan.lossless); }>(
          "lossless_from", "Where lossless_gbps is from: computed or simulated.")
          .or_null(),
      Row::of<[](const PlanReport& r) { return gbps_of(r.plan.throughput); }>(
          "throughput_gbps",
          "Throughput with the loss; null where it is neither computed nor simulated.", Unit::gbps)
          .or_null(),
      Row::of<[](const PlanReport& r) { return source_of(r.plan.throughput); }>(
          "throughput_from", "Where throughput_gbps is from: computed or simulated.")
          .or_null(),
      Row::of<throughput_end<&perf::RateInterval::low>>(
          "throughput_low_gbps",
          "Lower end of the 95 % interval of throughput_gbps; null without random losses.",
          Unit::gbps)
          .or_null(),
      Row::of<throughput_end<&perf::RateInterval::high>>(
          "throughput_high_gbps",
          "Upper end of the 95 % interval of throughput_gbps; null without random losses.",
          Unit::gbps)
          .or_null(),
      Row::of<[](const PlanReport& r) { return r.plan.limit; }>(
          "limit", "What limits lossless_gbps, and from where it is; null if something else does.")
          .or_null(),
      Row::of<[](const PlanReport& r) { return r.plan.window_packets(r.config); }>(
          "window_packets", "Packets outstanding of all QPs, from lossless_gbps; null as that.")
          .or_null(),
      Row::of<tenth_of>("loss_for_90_percent",
                        "Loss that costs a tenth of lossless_gbps, 0 to 1: the middle of the two "
                        "below, simulated; null without --find-loss.")
          .or_null(),
      Row::of<tenth_end<&LossRange::low>>("loss_for_90_percent_low",
                                          "A loss that costs less than a tenth.")
          .or_null(),
      Row::of<tenth_end<&LossRange::high>>("loss_for_90_percent_high",
                                           "A loss that costs more than a tenth.")
          .or_null(),
      Row::of<[](const PlanReport& r) -> const std::string& { return r.plan.breaks; }>(
          "breaks_because", "How work requests failed in a simulated run; empty if none did.")};
  static constexpr FigureTable kTable{"What fills a path, and what limits the throughput.", kRows};
  return kTable;
}

}  // namespace lw::gen
