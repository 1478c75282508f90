// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/perf_report.h"

#include <fmt/format.h>

namespace lw::gen {
namespace {

using report::Json;

double us(double ns) { return ns / 1000; }

Json settings_of(const sim::PerfConfig& config) {
  return {{"operation", wire::name_of(config.operation)},
          {"immediate", config.immediate},
          {"bytes", config.size},
          {"qps", config.qps},
          {"tx_depth", config.qp.tx_depth},
          {"outstanding", config.qp.max_outstanding_wqe},
          {"reads", config.qp.max_rd_atomic},
          {"mtu", config.qp.mtu}};
}

double messages_per_us(const sim::BandwidthResult& result) {
  const auto ns = static_cast<double>(result.elapsed.count());
  return ns > 0 ? static_cast<double>(result.messages) * 1000 / ns : 0;
}

}  // namespace

std::string bandwidth_header() {
  return " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n";
}

std::string bandwidth_line(std::uint32_t size, const sim::BandwidthResult& result) {
  return fmt::format(" {:<7}    {:<10}       {:<7.2f}            {:<7.2f}\t\t   {:<7.6f}\n", size,
                     result.messages, result.steady_bps / 1e9, result.average_bps / 1e9,
                     messages_per_us(result));
}

std::string bandwidth_json(const sim::PerfConfig& config, const PerfOutcome& outcome) {
  const sim::BandwidthResult& result = outcome.bandwidth;
  Json json = settings_of(config);
  json.update(outcome.where);
  json.update({{"iterations", result.messages},
               {"bw_peak_gbps", result.steady_bps / 1e9},
               {"bw_average_gbps", result.average_bps / 1e9},
               {"msg_rate_mpps", messages_per_us(result)},
               {"elapsed_ns", result.elapsed.count()},
               {"packets", result.packets},
               {"retransmitted", result.retransmitted},
               {"timeouts", result.timeouts},
               {"failed", result.failed}});
  return report::json_line(json);
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

std::string latency_json(const sim::PerfConfig& config, const PerfOutcome& outcome) {
  const sim::LatencyResult& result = outcome.latency;
  const auto quantile = [&](double q) { return us(static_cast<double>(result.ns.quantile(q))); };
  Json json = settings_of(config);
  json.update(outcome.where);
  json.update({{"iterations", result.ns.count()},
               {"t_min_usec", us(static_cast<double>(result.ns.minimum()))},
               {"t_max_usec", us(static_cast<double>(result.ns.maximum()))},
               {"t_typical_usec", quantile(0.5)},
               {"t_avg_usec", us(result.ns.mean())},
               {"t_stdev_usec", us(result.deviation_ns)},
               {"t_99_usec", quantile(0.99)},
               {"t_999_usec", quantile(0.999)},
               {"failed", result.failed}});
  return report::json_line(json);
}

}  // namespace lw::gen
