// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/dcqcn_options.h"

#include <map>

#include "core/quantity.h"

namespace lw::gen {
namespace {

using transport::DcqcnConfig;
using transport::RateControl;

constexpr double kMost = 1e9;  // of anything: no NIC's register holds more

void add_number(CLI::App* command, const char* name, double& into, const char* help,
                double least = 0) {
  command->add_option(name, into, help)
      ->check(CLI::Range(least, kMost))
      ->type_name("N")
      ->capture_default_str();
}

void add_reaction_options(CLI::App* command, DcqcnConfig& dcqcn) {
  add_number(command, "--rpg-time-reset", dcqcn.rpg_time_reset_us, "us between timed increases", 1);
  add_number(command, "--rpg-byte-reset", dcqcn.rpg_byte_reset, "Bytes; 0: none by bytes");
  command->add_option("--rpg-threshold", dcqcn.rpg_threshold, "Increases of fast recovery")
      ->check(CLI::Range(0U, 31U))
      ->type_name("N")
      ->capture_default_str();
  add_number(command, "--rpg-ai-rate", dcqcn.rpg_ai_rate_mbps, "Mb/s, additive increase");
  add_number(command, "--rpg-hai-rate", dcqcn.rpg_hai_rate_mbps, "Mb/s, hyper increase");
  command->add_option("--rpg-gd", dcqcn.rpg_gd, "alpha / 2^N is cut off")
      ->check(CLI::Range(10U, 15U))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--rpg-min-dec-fac", dcqcn.rpg_min_dec_fac_percent, "% kept in a cut at least")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("N")
      ->capture_default_str();
  add_number(command, "--rpg-min-rate", dcqcn.rpg_min_rate_mbps, "Mb/s that no cut goes below",
             0.001);
  add_number(command, "--rpg-max-rate", dcqcn.rpg_max_rate_mbps,
             "Mb/s that no increase goes beyond; 0: the line's");
  add_number(command, "--rate-to-set-on-first-cnp", dcqcn.rate_to_set_on_first_cnp_mbps,
             "Mb/s; 0: the line's");
  command->add_option("--dce-tcp-g", dcqcn.dce_tcp_g, "1024ths of alpha that are kept")
      ->check(CLI::Range(0.0, 1024.0))
      ->type_name("N")
      ->capture_default_str();
  add_number(command, "--dce-tcp-rtt", dcqcn.dce_tcp_rtt_us, "us between decays of alpha", 1);
  add_number(command, "--rate-reduce-monitor-period", dcqcn.rate_reduce_monitor_period_us,
             "us between cuts at least");
  command->add_option("--initial-alpha", dcqcn.initial_alpha, "1024ths, what alpha begins with")
      ->check(CLI::Range(0.0, 1024.0))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--clamp-tgt-rate", dcqcn.clamp_tgt_rate, "Every cut lowers the target");
  command
      ->add_option("--clamp-tgt-rate-after-time-inc", dcqcn.clamp_tgt_rate_after_time_inc,
                   "A cut after a timed increase does")
      ->type_name("true|false")
      ->default_str("true");
}

}  // namespace

void add_congestion_options(CLI::App* command, transport::QpConfig& config) {
  static const std::map<std::string, RateControl> kControls = {
      {"none", RateControl::none}, {"fixed", RateControl::fixed}, {"dcqcn", RateControl::dcqcn}};
  command
      ->add_option_function<std::string>(
          "--rate-control",
          [&config](const std::string& name) { config.rate_control = kControls.at(name); },
          "Of a QP's sending: none, fixed (--qp-rate) or dcqcn")
      ->check(CLI::IsMember({"none", "fixed", "dcqcn"}))
      ->type_name("KIND")
      ->default_str("none");
  command
      ->add_option_function<std::string>(
          "--qp-rate",
          [&config](const std::string& text) {
            const auto rate = parse_bit_rate(text);
            if (!rate) throw CLI::ValidationError("--qp-rate", rate.error());
            config.rate_bps = *rate;
          },
          "Of the line, what a QP may take; DCQCN: what it begins with")
      ->type_name("RATE")
      ->default_str("the NIC's");
  add_dcqcn_options(command, config.dcqcn);
}

void add_dcqcn_options(CLI::App* command, DcqcnConfig& dcqcn) {
  CLI::Option_group* reaction = command->add_option_group(kReactionPoint);
  add_reaction_options(reaction, dcqcn);
  CLI::Option_group* notification = command->add_option_group(kNotificationPoint);
  add_number(notification, "--min-time-between-cnps", dcqcn.min_time_between_cnps_us,
             "us between a responder's CNPs at least");
}

std::string given_of(const CLI::App& command, const std::string& group) {
  for (const CLI::Option* option : command.get_option_group(group)->get_options()) {
    if (option->count() > 0) return option->get_name();
  }
  return {};
}

}  // namespace lw::gen
