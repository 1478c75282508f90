// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/plan.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/quantity.h"
#include "report/json_line.h"
#include "transport/packet.h"

namespace lw::gen {
namespace {

using wire::Operation;

bool fetches(const sim::PerfConfig& config) noexcept {
  return config.operation != Operation::send && config.operation != Operation::write;
}

struct Window {
  std::uint64_t messages;
  Limit limit;
};

/// The tightest of a QP's windows, in messages.
Window window_of(const sim::PerfConfig& config) noexcept {
  Window window{config.qp.tx_depth, Limit::tx_depth};
  const auto tighten = [&](std::uint64_t messages, Limit limit) {
    if (messages < window.messages) window = {messages, limit};
  };
  tighten(config.qp.max_outstanding_wqe, Limit::outstanding_wqes);
  if (fetches(config)) tighten(config.qp.max_rd_atomic, Limit::reads);
  const std::uint64_t packets = transport::packets_of(config.size, config.qp.mtu);
  tighten(std::max<std::uint64_t>(1, config.qp.psn_window / packets), Limit::psn_window);
  return window;
}

}  // namespace

std::string_view name_of(Limit limit) noexcept {
  switch (limit) {
    case Limit::line:
      return "line";
    case Limit::receiver:
      return "receiver";
    case Limit::tx_depth:
      return "tx depth";
    case Limit::outstanding_wqes:
      return "outstanding work requests";
    case Limit::reads:
      return "outstanding READs";
    case Limit::psn_window:
      return "PSN window";
  }
  return "";
}

Plan plan(const sim::PerfConfig& config) noexcept {
  Plan plan;
  const double rate = config.path.rate_bps > 0 ? config.path.rate_bps : config.nic.rate_bps;
  const double bits = 8.0 * config.size;
  const double message_s = sim::link_ns_of_message(config) * 1e-9;
  plan.round_trip = round_trip_of(config);
  const double round_trip_s = 1e-9 * static_cast<double>(plan.round_trip.count());
  plan.bdp_bytes = round_trip_s * rate / 8;
  plan.goodput_bps = bits / message_s;
  plan.needed = static_cast<std::uint64_t>(std::ceil((round_trip_s + message_s) / message_s));
  const Window window = window_of(config);
  plan.configured = window.messages * config.qps;
  plan.qps_needed = (plan.needed + window.messages - 1) / window.messages;
  const double by_window = static_cast<double>(plan.configured) * bits / (round_trip_s + message_s);
  plan.throughput_bps = std::min(plan.goodput_bps, by_window);
  plan.limit = by_window < plan.goodput_bps ? window.limit : Limit::line;
  const double receiver = config.nic.receive_send_bps;
  if (config.operation == Operation::send && receiver > 0 && receiver < plan.throughput_bps) {
    plan.throughput_bps = receiver;
    plan.limit = Limit::receiver;
  }
  const double packets = transport::packets_of(config.size, config.qp.mtu);
  plan.window_packets = plan.throughput_bps / bits * packets * round_trip_s;
  constexpr double kKept = 0.9;
  plan.loss_for_90_percent = (1 - kKept) / (kKept * std::max(1.0, plan.window_packets) - kKept + 1);
  return plan;
}

std::string plan_text(const sim::PerfConfig& config, const Plan& plan) {
  std::string text = fmt::format(
      "round trip      {} ({} there, {} back, {} in each host and NIC, each way)\n"
      "in flight       {} fill a round trip of {}\n"
      "line            carries {} of payload in {} messages of {} B\n",
      format_duration(plan.round_trip), format_duration(config.path.one_way),
      format_duration(config.path.way_back.value_or(config.path.one_way)),
      format_duration(config.nic.latency), format_bytes(plan.bdp_bytes),
      format_bit_rate(config.nic.rate_bps), format_bit_rate(plan.goodput_bps),
      wire::name_of(config.operation), config.size);
  text += fmt::format(
      "to fill it      {} messages outstanding: {} QPs of {} each, or one with a tx depth{} of {}\n"
      "configured      {} QPs, {} messages outstanding in all: {}\n"
      "what binds      {}\n",
      plan.needed, plan.qps_needed, plan.configured / config.qps,
      fetches(config) ? " and READs" : " and window", plan.needed, config.qps, plan.configured,
      format_bit_rate(plan.throughput_bps), name_of(plan.limit));
  text += fmt::format(
      "loss            {:.1e} costs go-back-N a tenth of that: each lost packet sends {:.0f} "
      "again\n",
      plan.loss_for_90_percent, plan.window_packets);
  return text;
}

std::string plan_json(const sim::PerfConfig& config, const Plan& plan) {
  return report::json_line({{"operation", wire::name_of(config.operation)},
                            {"bytes", config.size},
                            {"round_trip_ns", plan.round_trip.count()},
                            {"bdp_bytes", plan.bdp_bytes},
                            {"goodput_gbps", plan.goodput_bps / 1e9},
                            {"messages_needed", plan.needed},
                            {"messages_configured", plan.configured},
                            {"qps_needed", plan.qps_needed},
                            {"throughput_gbps", plan.throughput_bps / 1e9},
                            {"limit", name_of(plan.limit)},
                            {"window_packets", plan.window_packets},
                            {"loss_for_90_percent", plan.loss_for_90_percent}});
}

}  // namespace lw::gen
