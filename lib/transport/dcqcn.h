// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"

namespace lw::transport {

/// DCQCN's parameters by the names that the NIC's configuration tool gives them, and the values
/// in force on the measured system.
struct DcqcnConfig {
  // Reaction point.
  double rpg_time_reset_us = 300;
  double rpg_byte_reset = 32767;  // bytes; 0: off
  std::uint32_t rpg_threshold = 1;
  double rpg_ai_rate_mbps = 5;
  double rpg_hai_rate_mbps = 50;
  std::uint32_t rpg_gd = 11;
  double rpg_min_dec_fac_percent = 50;
  double rpg_min_rate_mbps = 1;
  double rpg_max_rate_mbps = 0;              // 0: the line's
  double rate_to_set_on_first_cnp_mbps = 0;  // 0: the line's
  double dce_tcp_g = 1019;                   // the share of alpha that is kept, in 1024ths
  double dce_tcp_rtt_us = 1;
  double rate_reduce_monitor_period_us = 4;
  double initial_alpha = 1023;  // in 1024ths
  bool clamp_tgt_rate = false;
  bool clamp_tgt_rate_after_time_inc = true;
  // Notification point.
  double min_time_between_cnps_us = 4;
};

/// The reaction point of one flow: what its sender may send at. It starts at the line's rate and
/// stays there, free of cost, until the first CNP. Time is told, in calls that never go back.
class ReactionPoint {
 public:
  /// line_bps > 0.
  ReactionPoint(const DcqcnConfig& config, double line_bps) noexcept;

  void on_cnp(Instant now) noexcept;
  /// So many bytes went out; may bring byte increases.
  void on_sent(std::uint32_t bytes, Instant now) noexcept;
  /// Brings alpha and the rates up to `now`: all decays and timed increases that are due.
  void advance(Instant now) noexcept;

  [[nodiscard]] bool limiting() const noexcept { return limiting_; }
  [[nodiscard]] double rate_bps() const noexcept { return current_; }
  [[nodiscard]] double target_bps() const noexcept { return target_; }
  [[nodiscard]] double alpha() const noexcept { return alpha_; }  // in 1024ths
  /// When the next timed increase comes; the end of time while nothing is limited.
  [[nodiscard]] Instant next_increase() const noexcept;
  [[nodiscard]] std::uint64_t cnps_handled() const noexcept { return cnps_; }

 private:
  enum class Increase : std::uint8_t { bytes, timed };

  void begin(Instant now) noexcept;
  void decrease(Instant now) noexcept;
  void decay_alpha(Instant now) noexcept;
  void increase(Increase kind) noexcept;

  DcqcnConfig config_;
  double line_, most_, least_;  // b/s
  double current_, target_;     // b/s
  double alpha_ = 0;
  double bytes_ = 0;  // since the last byte increase
  std::uint32_t timed_ = 0, by_bytes_ = 0;
  bool limiting_ = false;
  Instant next_timed_, next_decay_, last_cut_;
  std::uint64_t cnps_ = 0;
};

/// The notification point of one flow: whether a CE-marked frame that arrives now earns a CNP.
class NotificationPoint {
 public:
  explicit NotificationPoint(const DcqcnConfig& config) noexcept;
  bool on_marked(Instant now) noexcept;

 private:
  Duration gap_;
  Instant last_;
  bool sent_ = false;
};

}  // namespace lw::transport
