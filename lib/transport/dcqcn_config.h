// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "core/figure.h"

namespace lw::transport {

/// When a CNP raises alpha: before it cuts the rate, as NICs do, or after it, as in the paper (Zhu
/// et al., SIGCOMM 2015, equation 1).
enum class AlphaUpdate : std::uint8_t { before_cut, after_cut };
std::string_view name_of(AlphaUpdate update) noexcept;

/// Whose CNPs a notification point spaces out.
enum class CnpScope : std::uint8_t {
  qp,           // each QP has its own time
  destination,  // all QPs whose CNPs go to one host
  port,         // all QPs of the port
};
std::string_view name_of(CnpScope scope) noexcept;

/// DCQCN's parameters, named as in the NIC's configuration tool, with the measured system's values.
/// figures() says what each is; options, keys of a profile, results and manual are made from it.
struct DcqcnConfig {
  // Reaction point.
  double rpg_time_reset_us = 300;
  double rpg_byte_reset = 32767;
  std::uint32_t rpg_threshold = 1;
  double rpg_ai_rate_mbps = 5;
  double rpg_hai_rate_mbps = 50;
  std::uint32_t rpg_gd = 11;
  double rpg_min_dec_fac_percent = 50;
  double rpg_min_rate_mbps = 1;
  double rpg_max_rate_mbps = 0;
  double rate_to_set_on_first_cnp_mbps = 0;
  double dce_tcp_g = 1019;
  double dce_tcp_rtt_us = 1;
  double rate_reduce_monitor_period_us = 4;
  double initial_alpha = 1023;
  bool clamp_tgt_rate = false;
  bool clamp_tgt_rate_after_time_inc = true;
  AlphaUpdate alpha_update = AlphaUpdate::before_cut;
  bool reduce_far_target = false;
  // Notification point.
  double min_time_between_cnps_us = 4;
  CnpScope cnp_scope = CnpScope::qp;
  double cnp_delay_us = 0;

  /// The settings of both points.
  static const FigureTable& figures();
  static const FigureTable& reaction_point();
  static const FigureTable& notification_point();
};

}  // namespace lw::transport
