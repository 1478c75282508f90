// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/rates.h"

#include <algorithm>
#include <array>

#include "transport/qp_config.h"

namespace lw::gen::otg {

std::optional<double> bps_of_speed(std::string_view speed) noexcept {
  constexpr double kMega = 1e6, kGiga = 1e9;
  struct Speed {
    std::string_view name;
    double bps;
  };
  static constexpr std::array<Speed, 13> kSpeeds = {{{"speed_10_fd_mbps", 10 * kMega},
                                                     {"speed_10_hd_mbps", 10 * kMega},
                                                     {"speed_100_fd_mbps", 100 * kMega},
                                                     {"speed_100_hd_mbps", 100 * kMega},
                                                     {"speed_1_gbps", kGiga},
                                                     {"speed_10_gbps", 10 * kGiga},
                                                     {"speed_25_gbps", 25 * kGiga},
                                                     {"speed_40_gbps", 40 * kGiga},
                                                     {"speed_50_gbps", 50 * kGiga},
                                                     {"speed_100_gbps", 100 * kGiga},
                                                     {"speed_200_gbps", 200 * kGiga},
                                                     {"speed_400_gbps", 400 * kGiga},
                                                     {"speed_800_gbps", 800 * kGiga}}};
  const auto* found = std::ranges::find(kSpeeds, speed, &Speed::name);
  return found == kSpeeds.end() ? std::nullopt : std::optional(found->bps);
}

std::uint64_t bytes_of_message(std::uint64_t size, std::string_view unit) noexcept {
  const unsigned shift = unit == "gb" ? 30 : unit == "mb" ? 20 : unit == "kb" ? 10 : 0;
  return size << shift;
}

std::uint8_t ack_timeout_of(Duration timeout) noexcept {
  constexpr std::uint8_t kMost = 31;
  if (timeout <= Duration{}) return 0;
  std::uint8_t exponent = 1;
  while (exponent < kMost && transport::transport_timeout(exponent) < timeout) ++exponent;
  return exponent;
}

transport::DcqcnConfig dcqcn_of(const DcqcnSettings& settings, const CnpSettings& cnp,
                                double line_bps) noexcept {
  constexpr double kPercentOfMega = 100 * 1e6;
  const auto mbps = [&](double percent) { return line_bps * percent / kPercentOfMega; };
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  constexpr double kLeastRate = 0.001;  // Mb/s: that of rpg_min_rate
  transport::DcqcnConfig dcqcn;
  dcqcn.dce_tcp_g = number(settings.alpha_g);
  dcqcn.initial_alpha = number(settings.initial_alpha);
  dcqcn.dce_tcp_rtt_us = number(settings.alpha_update_period);
  dcqcn.rate_reduce_monitor_period_us = number(settings.rate_reduction_time_period);
  dcqcn.rate_to_set_on_first_cnp_mbps = mbps(settings.initial_rate_after_first_cnp);
  dcqcn.rpg_min_rate_mbps = std::max(mbps(settings.minimum_rate_limmit), kLeastRate);
  dcqcn.rpg_min_dec_fac_percent = 100 - number(settings.maximum_rate_decrement_at_time);
  dcqcn.clamp_tgt_rate = settings.clamp_target_rate;
  dcqcn.rpg_time_reset_us = number(settings.rate_increment_time);
  dcqcn.rpg_byte_reset = number(settings.rate_increment_byte_counter);
  dcqcn.rpg_threshold = static_cast<std::uint32_t>(settings.rate_increment_threshold);
  dcqcn.rpg_ai_rate_mbps = mbps(settings.additive_increment_rate);
  dcqcn.rpg_hai_rate_mbps = mbps(settings.hyper_increment_rate);
  dcqcn.min_time_between_cnps_us = number(cnp.cnp_delay_timer);
  return dcqcn;
}

}  // namespace lw::gen::otg
