// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/qp_options.h"

#include "core/quantity.h"

namespace lw::gen {
namespace {

using transport::DcqcnConfig;
using transport::RateControl;

constexpr double kMost = 1e9;  // no NIC's register holds more

void add_number(app::Options& options, const char* name, double& target, const char* help,
                double low = 0, double high = kMost) {
  options.add(name, app::number(target, low, high), "N", help);
}

void add_reaction_options(app::Options& options, DcqcnConfig& dcqcn) {
  add_number(options, "--rpg-time-reset", dcqcn.rpg_time_reset_us,
             "time between timed increases, in us", 1);
  add_number(options, "--rpg-byte-reset", dcqcn.rpg_byte_reset,
             "bytes between increases; 0: no increase by bytes");
  options.add("--rpg-threshold", app::number(dcqcn.rpg_threshold, 0u, 31u), "N",
              "number of increases in fast recovery");
  add_number(options, "--rpg-ai-rate", dcqcn.rpg_ai_rate_mbps, "additive increase, in Mb/s");
  add_number(options, "--rpg-hai-rate", dcqcn.rpg_hai_rate_mbps, "hyper increase, in Mb/s");
  options.add("--rpg-gd", app::number(dcqcn.rpg_gd, 10u, 15u), "N",
              "exponent of a cut: the rate falls by alpha / 2^N");
  add_number(options, "--rpg-min-dec-fac", dcqcn.rpg_min_dec_fac_percent,
             "least share of the rate that a cut keeps, in %", 0, 100);
  add_number(options, "--rpg-min-rate", dcqcn.rpg_min_rate_mbps, "lowest rate after a cut, in Mb/s",
             0.001);
  add_number(options, "--rpg-max-rate", dcqcn.rpg_max_rate_mbps,
             "highest rate after an increase, in Mb/s; 0: the link's rate");
  add_number(options, "--rate-to-set-on-first-cnp", dcqcn.rate_to_set_on_first_cnp_mbps,
             "rate after the first CNP, in Mb/s; 0: the link's rate");
  add_number(options, "--dce-tcp-g", dcqcn.dce_tcp_g, "share of alpha that is kept, in 1/1024", 0,
             1024);
  add_number(options, "--dce-tcp-rtt", dcqcn.dce_tcp_rtt_us, "time between decays of alpha, in us",
             1);
  add_number(options, "--rate-reduce-monitor-period", dcqcn.rate_reduce_monitor_period_us,
             "least time between cuts, in us");
  add_number(options, "--initial-alpha", dcqcn.initial_alpha, "initial alpha, in 1/1024", 0, 1024);
  options.add_flag("--clamp-tgt-rate", dcqcn.clamp_tgt_rate, "lower the target rate at every cut");
  options.add(
      "--clamp-tgt-rate-after-time-inc",
      app::choice<bool>(dcqcn.clamp_tgt_rate_after_time_inc, {{"true", true}, {"false", false}}),
      "true|false", "lower the target rate at a cut after a timed increase");
}

}  // namespace

void add_transport_option(app::Options& options, transport::QpConfig& config) {
  using wire::Transport;
  options.add(
      "--transport",
      app::choice<Transport>(config.transport,
                             {{"rc", Transport::rc}, {"uc", Transport::uc}, {"ud", Transport::ud}}),
      "KIND",
      "service: rc; with --port also uc (SEND, WRITE) and ud (SEND of one packet), "
      "which do not recover lost messages");
}

void add_congestion_options(app::Options& options, transport::QpConfig& config) {
  options.add("--rate-control",
              app::choice<RateControl>(config.rate_control, {{"none", RateControl::none},
                                                             {"fixed", RateControl::fixed},
                                                             {"dcqcn", RateControl::dcqcn}}),
              "KIND", "rate control of a QP: none, fixed (--qp-rate) or dcqcn");
  options
      .add("--qp-rate", app::parsed(parse_bit_rate, config.rate_bps), "RATE",
           "rate of a QP on the link; initial rate of DCQCN")
      .defaults_to("the NIC's rate");
  add_dcqcn_options(options, config.dcqcn);
}

void add_dcqcn_options(app::Options& options, DcqcnConfig& dcqcn) {
  options.begin_group(kReactionPoint);
  add_reaction_options(options, dcqcn);
  options.begin_group(kNotificationPoint);
  add_number(options, "--min-time-between-cnps", dcqcn.min_time_between_cnps_us,
             "least time between a responder's CNPs, in us");
  options.begin_group("");
}

}  // namespace lw::gen
