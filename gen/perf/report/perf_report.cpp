// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_report.h"

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::gen {
namespace {

using report::Json;

/// Adds what limits the meaning of the figures: losses, and an early end of the run.
void add_limits(Json& json, const PerfOutcome& outcome) {
  if (outcome.lost_messages) json["lost_messages"] = *outcome.lost_messages;
  if (outcome.arrivals_unknown) json["arrivals_unknown"] = true;
  if (outcome.incomplete()) json["incomplete"] = true;
}

double us(double ns) { return ns / 1000; }

std::string_view name_of(transport::RateControl control) noexcept {
  using transport::RateControl;
  return control == RateControl::none ? "none" : control == RateControl::fixed ? "fixed" : "dcqcn";
}

/// Returns the settings of QPs that apply both to a port and to a simulation.
Json qp_settings_of(const sim::PerfConfig& config) {
  const bool selective = config.qp.recovery == transport::Recovery::selective_repeat;
  return {{"operation", wire::name_of(config.operation)},
          {"immediate", config.immediate},
          {"bytes", config.size},
          {"qps", config.qps},
          {"tx_depth", config.qp.tx_depth},
          {"outstanding", config.qp.max_outstanding_wqe},
          {"reads", config.qp.max_rd_atomic},
          {"psn_window", config.qp.psn_window},
          {"mtu", config.qp.mtu},
          {"ack_every", config.qp.ack_every},
          {"timeout", config.qp.timeout},
          {"retries", config.qp.retry_count},
          {"rnr_retries", config.qp.rnr_retry},
          {"adaptive", config.qp.adaptive_retransmission},
          {"recovery", selective ? "selective-repeat" : "go-back-N"},
          {"rate_control", name_of(config.qp.rate_control)},
          {"qp_rate_bps", config.qp.rate_bps}};
}

Json dcqcn_settings_of(const transport::DcqcnConfig& dcqcn) {
  return {{"rpg_time_reset", dcqcn.rpg_time_reset_us},
          {"rpg_byte_reset", dcqcn.rpg_byte_reset},
          {"rpg_threshold", dcqcn.rpg_threshold},
          {"rpg_ai_rate", dcqcn.rpg_ai_rate_mbps},
          {"rpg_hai_rate", dcqcn.rpg_hai_rate_mbps},
          {"rpg_gd", dcqcn.rpg_gd},
          {"rpg_min_dec_fac", dcqcn.rpg_min_dec_fac_percent},
          {"rpg_min_rate", dcqcn.rpg_min_rate_mbps},
          {"rpg_max_rate", dcqcn.rpg_max_rate_mbps},
          {"rate_to_set_on_first_cnp", dcqcn.rate_to_set_on_first_cnp_mbps},
          {"dce_tcp_g", dcqcn.dce_tcp_g},
          {"dce_tcp_rtt", dcqcn.dce_tcp_rtt_us},
          {"rate_reduce_monitor_period", dcqcn.rate_reduce_monitor_period_us},
          {"initial_alpha", dcqcn.initial_alpha},
          {"clamp_tgt_rate", dcqcn.clamp_tgt_rate},
          {"clamp_tgt_rate_after_time_inc", dcqcn.clamp_tgt_rate_after_time_inc},
          {"min_time_between_cnps", dcqcn.min_time_between_cnps_us}};
}

/// Returns the additional settings of a simulation: NICs, path, receives.
Json simulated_settings_of(const sim::PerfConfig& config) {
  const sim::PerfPath& path = config.path;
  return {{"reorder_packets", config.qp.reorder_packets},
          {"responder_reads", config.qp.max_dest_rd_atomic},
          {"nic_latency_ns", config.nic.latency.count()},
          {"nic_per_packet_ns", config.nic.per_packet.count()},
          {"nic_per_message_ns", config.nic.per_message.count()},
          {"arbitration_packets", config.nic.arbitration_burst},
          {"receive_limit_bps", config.nic.receive_send_bps},
          {"receives", config.receives},
          {"repost_ns", config.repost.count()},
          {"credits", config.qp.end_to_end_credits},
          {"rnr_timer", config.qp.rnr_timer},
          {"way_back_ns", path.way_back.value_or(path.one_way).count()},
          {"path_rate_bps", path.rate_bps},
          {"path_buffer_bytes", path.buffer_bytes},
          {"loss", path.loss},
          {"mark", path.marking},
          {"seed", path.seed}};
}

/// Returns all parameters that affect a result.
Json settings_of(const sim::PerfConfig& config, const PerfOutcome& outcome) {
  Json json = qp_settings_of(config);
  if (config.qp.rate_control == transport::RateControl::dcqcn)
    json.update(dcqcn_settings_of(config.qp.dcqcn));
  if (!outcome.where.contains("port")) json.update(simulated_settings_of(config));
  json.update(outcome.where);
  return json;
}

/// Figures of a run, as defined by the RDMA programming study.
struct StudyFigures {
  double buffers = 1, messages = 0, elapsed_us = 0, one_way_us = 0, gbps = 0;
};

StudyFigures study_of(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome) {
  StudyFigures figures;
  if (ping) {
    const Histogram& halves = outcome.latency.ns;
    figures.messages = static_cast<double>(halves.count());
    figures.elapsed_us = 2 * us(halves.mean()) * figures.messages;
  } else {
    figures.buffers = config.qp.tx_depth;
    figures.messages = static_cast<double>(outcome.bandwidth.messages);
    figures.elapsed_us = us(static_cast<double>(outcome.bandwidth.elapsed.count()));
  }
  if (figures.messages == 0 || figures.elapsed_us <= 0) return figures;
  figures.one_way_us = figures.elapsed_us / figures.messages / (ping ? 2 : 1);
  figures.gbps = figures.messages * config.size * 8 / figures.elapsed_us / 1000;
  return figures;
}

/// Formats a rate in Gb/s; "-" if it was not measured.
std::string measured_text(double bps) {
  return bps > 0 ? fmt::format("{:.2f}", bps / 1e9) : std::string("-");
}

Json measured_json(double bps) { return bps > 0 ? Json(bps / 1e9) : Json(nullptr); }

/// Adds the interval of the steady rate; null where chance plays no part, or in a short run.
void add_interval(Json& json, const sim::BandwidthResult& result) {
  const auto& interval = result.steady_interval;
  json["bw_steady_low_gbps"] = interval ? Json(interval->low / 1e9) : Json(nullptr);
  json["bw_steady_high_gbps"] = interval ? Json(interval->high / 1e9) : Json(nullptr);
  json["steady"] = interval ? Json(result.is_steady()) : Json(nullptr);
}

/// Adds the status of the first failed work request, and QPs that wait for ever.
void add_failure(Json& json, const std::optional<sim::Failure>& first) {
  if (first) json["failure"] = transport::name_of(first->status);
}

double messages_per_us(const sim::BandwidthResult& result) {
  const auto ns = static_cast<double>(result.elapsed.count());
  return ns > 0 ? static_cast<double>(result.messages) * 1000 / ns : 0;
}

}  // namespace

std::string incomplete_line(const PerfOutcome& outcome) {
  return outcome.incomplete() ? "incomplete: a signal ended this run early\n" : "";
}

std::string arrivals_line(const PerfOutcome& outcome) {
  const std::uint64_t sent = outcome.bandwidth.messages;
  if (outcome.arrivals_unknown)
    return fmt::format(
        "it is unknown which of {} WRITEs arrived; the rates are the sender's. With --imm the "
        "responder counts them\n",
        sent);
  if (!outcome.lost_messages) return "";
  return fmt::format("{} of {} messages didn't arrive\n", *outcome.lost_messages, sent);
}

std::string ways_line(const sim::PerfConfig& config, const PerfOutcome& outcome) {
  if (!config.both) return "";
  return fmt::format("both ways: {:.2f} Gb/s there, {:.2f} Gb/s back, on average\n",
                     outcome.bandwidth.there_bps() / 1e9, outcome.bandwidth.back_bps() / 1e9);
}

std::string bandwidth_header() {
  return " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
         "   BW steady[Gb/sec]\n";
}

std::string bandwidth_line(std::uint32_t size, const sim::BandwidthResult& result) {
  return fmt::format(" {:<7}    {:<10}       {:<7}            {:<7.2f}\t\t   {:<7.6f}\t   {}\n",
                     size, result.messages, measured_text(result.peak_bps),
                     result.average_bps / 1e9, messages_per_us(result),
                     measured_text(result.steady_bps));
}

std::string steady_line(const sim::PerfConfig& config, const sim::BandwidthResult& result) {
  if (result.messages == 0) return {};
  if (result.steady_bps == 0)
    return "-: the run is too short to measure this rate; give a larger -n, or --duration\n";
  if (!sim::by_chance(config)) return {};
  if (!result.steady_interval) return "the run is too short for an interval of the steady rate\n";
  const auto& [low, high] = *result.steady_interval;
  if (result.is_steady())
    return fmt::format("BW steady: {:.2f} to {:.2f} Gb/s, the 95 % interval by batch means\n",
                       low / 1e9, high / 1e9);
  return fmt::format(
      "not steady after {} packets: {:.2f} to {:.2f} Gb/s, the 95 % interval by batch means\n",
      result.packets, low / 1e9, high / 1e9);
}

std::string failure_text(std::uint64_t failed, const std::optional<sim::Failure>& first) {
  std::string text = fmt::format("{} work requests failed", failed);
  if (first)
    text += fmt::format("; the first at {} on QP {} of the {}: {}",
                        format_duration(first->at - Instant{}), first->qp,
                        first->host == 0 ? "client" : "responder", name_of(first->status));
  return text;
}

Json bandwidth_values(const sim::PerfConfig& config, const PerfOutcome& outcome) {
  const sim::BandwidthResult& result = outcome.bandwidth;
  Json json = settings_of(config, outcome);
  json.update({{"iterations", result.messages},
               {"bw_peak_gbps", measured_json(result.peak_bps)},
               {"bw_average_gbps", result.average_bps / 1e9},
               {"bw_steady_gbps", measured_json(result.steady_bps)},
               {"msg_rate_mpps", messages_per_us(result)},
               {"elapsed_ns", result.elapsed.count()},
               {"packets", result.packets},
               {"retransmitted", result.retransmitted},
               {"timeouts", result.timeouts},
               {"failed", result.failed},
               {"cnps", result.cnps},
               {"lost", result.there.lost + result.back.lost},
               {"tail_dropped", result.there.tail_dropped + result.back.tail_dropped},
               {"marked", result.there.marked + result.back.marked},
               {"steady_window_ns", result.steady_window.count()},
               {"steady_change", result.steady_change}});
  if (config.both) {
    json["bw_there_gbps"] = result.there_bps() / 1e9;
    json["bw_back_gbps"] = result.back_bps() / 1e9;
  }
  add_interval(json, result);
  add_failure(json, result.failure);
  if (result.stuck_qps > 0) json["stuck_qps"] = result.stuck_qps;
  add_limits(json, outcome);
  return json;
}

std::string bandwidth_json(const sim::PerfConfig& config, const PerfOutcome& outcome) {
  return report::json_line("longwire.perf_bandwidth", bandwidth_values(config, outcome));
}

std::string latency_header() {
  return " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
         "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n";
}

std::string latency_line(std::uint32_t size, const sim::LatencyResult& result) {
  const auto quantile = [&](double q) { return us(static_cast<double>(result.ns.quantile(q))); };
  return fmt::format(
      " {:<7} {:<7}        {:<7.2f}        {:<7.2f}      {:<7.2f}  \t       {:<7.2f}     \t"
      "{:<7.2f}\t\t{:<7.2f} \t\t{:<7.2f}\n",
      size, result.ns.count(), us(static_cast<double>(result.ns.minimum())),
      us(static_cast<double>(result.ns.maximum())), quantile(0.5), us(result.ns.mean()),
      us(result.deviation_ns), quantile(0.99), quantile(0.999));
}

Json latency_values(const sim::PerfConfig& config, const PerfOutcome& outcome) {
  const sim::LatencyResult& result = outcome.latency;
  const auto quantile = [&](double q) { return us(static_cast<double>(result.ns.quantile(q))); };
  Json json = settings_of(config, outcome);
  json.update({{"iterations", result.ns.count()},
               {"t_min_usec", us(static_cast<double>(result.ns.minimum()))},
               {"t_max_usec", us(static_cast<double>(result.ns.maximum()))},
               {"t_typical_usec", quantile(0.5)},
               {"t_avg_usec", us(result.ns.mean())},
               {"t_stdev_usec", us(result.deviation_ns)},
               {"t_99_usec", quantile(0.99)},
               {"t_999_usec", quantile(0.999)},
               {"failed", result.failed}});
  add_failure(json, result.failure);
  if (result.stuck) json["stuck_qps"] = 1;
  add_limits(json, outcome);
  return json;
}

std::string latency_json(const sim::PerfConfig& config, const PerfOutcome& outcome) {
  return report::json_line("longwire.perf_latency", latency_values(config, outcome));
}

std::string study_header() {
  return fmt::format("{:>10} {:>8} {:>10} {:>15} {:>14} {:>17} {:>8}\n", "#bytes", "#buffers",
                     "#messages", "elapsed[us]", "one-way[us]", "throughput[Gb/s]", "CPU[%]");
}

std::string study_line(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome) {
  const StudyFigures figures = study_of(config, ping, outcome);
  const std::string cpu =
      outcome.cpu_share > 0 ? fmt::format("{:.1f}", 100 * outcome.cpu_share) : "-";
  return fmt::format("{:>10} {:>8} {:>10} {:>15.2f} {:>14.2f} {:>17.3f} {:>8}\n", config.size,
                     figures.buffers, figures.messages, figures.elapsed_us, figures.one_way_us,
                     figures.gbps, cpu);
}

Json study_values(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome) {
  const StudyFigures figures = study_of(config, ping, outcome);
  Json json = settings_of(config, outcome);
  json.update({{"pattern", ping ? "ping" : "blast"},
               {"buffers", figures.buffers},
               {"messages", figures.messages},
               {"elapsed_usec", figures.elapsed_us},
               {"one_way_usec", figures.one_way_us},
               {"throughput_gbps", figures.gbps},
               {"cpu_percent", 100 * outcome.cpu_share},
               {"failed", outcome.failed()}});
  add_failure(json, outcome.failure());
  if (outcome.stuck_qps() > 0) json["stuck_qps"] = outcome.stuck_qps();
  add_limits(json, outcome);
  return json;
}

std::string study_json(const sim::PerfConfig& config, bool ping, const PerfOutcome& outcome) {
  return report::json_line("longwire.perf_study", study_values(config, ping, outcome));
}

}  // namespace lw::gen
