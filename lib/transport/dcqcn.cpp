// SPDX-License-Identifier: BSD-3-Clause
#include "transport/dcqcn.h"

#include <algorithm>
#include <cmath>

namespace lw::transport {
namespace {

constexpr double kUnits = 1024;  // alpha and G are in these
constexpr double kMega = 1e6;

/// At least a nanosecond, so that a period of 0 can't stop the clock.
Duration microseconds(double us) noexcept {
  return Duration{std::max<std::int64_t>(1, std::llround(us * 1000))};
}

}  // namespace

ReactionPoint::ReactionPoint(const DcqcnConfig& config, double link_bps) noexcept
    : config_(config),
      line_(link_bps),
      most_(config.rpg_max_rate_mbps > 0 ? std::min(link_bps, config.rpg_max_rate_mbps * kMega)
                                         : link_bps),
      least_(config.rpg_min_rate_mbps * kMega),
      current_(most_),
      target_(most_) {}

/// Starts to limit the flow: its first CNP sets the initial rate.
void ReactionPoint::begin(Instant now) noexcept {
  const double first = config_.rate_to_set_on_first_cnp_mbps * kMega;
  current_ = first > 0 ? std::min(first, most_) : most_;
  target_ = current_;
  alpha_ = config_.initial_alpha;
  next_decay_ = now + microseconds(config_.dce_tcp_rtt_us);
  limiting_ = true;
}

void ReactionPoint::on_cnp(Instant now) noexcept {
  advance(now);
  ++cnps_;
  if (!limiting_) {
    begin(now);
  } else if (now < last_cut_ + microseconds(config_.rate_reduce_monitor_period_us)) {
    return;
  }
  decrease(now);
}

void ReactionPoint::decrease(Instant now) noexcept {
  // Unless configured otherwise, the target stays only if byte increases alone have raised the rate
  // since the last cut.
  const bool clamp = config_.clamp_tgt_rate ||
                     (timed_ > 0 ? config_.clamp_tgt_rate_after_time_inc : by_bytes_ == 0);
  if (clamp) target_ = current_;
  const double cut = current_ * (1 - alpha_ / std::ldexp(1.0, static_cast<int>(config_.rpg_gd)));
  current_ = std::max({cut, current_ * config_.rpg_min_dec_fac_percent / 100, least_});
  alpha_ = alpha_ * config_.dce_tcp_g / kUnits + (kUnits - config_.dce_tcp_g);
  timed_ = by_bytes_ = 0;
  bytes_ = 0;
  last_cut_ = now;
  next_timed_ = now + microseconds(config_.rpg_time_reset_us);
  next_decay_ = now + microseconds(config_.dce_tcp_rtt_us);
}

void ReactionPoint::decay_alpha(Instant now) noexcept {
  if (now < next_decay_) return;
  const Duration period = microseconds(config_.dce_tcp_rtt_us);
  const auto times = (now - next_decay_) / period + 1;
  alpha_ *= std::pow(config_.dce_tcp_g / kUnits, static_cast<double>(times));
  next_decay_ += period * times;
}

void ReactionPoint::increase(Increase kind) noexcept {
  std::uint32_t& events = kind == Increase::timed ? timed_ : by_bytes_;
  ++events;
  const bool timed_past = timed_ > config_.rpg_threshold;
  const bool bytes_past = by_bytes_ > config_.rpg_threshold;
  if (timed_past && bytes_past) {
    target_ += config_.rpg_hai_rate_mbps * kMega;
  } else if (timed_past || bytes_past) {
    target_ += config_.rpg_ai_rate_mbps * kMega;
  }
  target_ = std::min(target_, most_);
  current_ = std::min((target_ + current_) / 2, most_);
}

void ReactionPoint::advance(Instant now) noexcept {
  if (!limiting_) return;
  decay_alpha(now);
  const Duration period = microseconds(config_.rpg_time_reset_us);
  while (next_timed_ <= now) {
    increase(Increase::timed);
    next_timed_ += period;
  }
}

void ReactionPoint::on_sent(std::uint32_t bytes, Instant now) noexcept {
  if (!limiting_) return;
  advance(now);
  if (config_.rpg_byte_reset <= 0) return;
  bytes_ += bytes;
  while (bytes_ >= config_.rpg_byte_reset) {
    bytes_ -= config_.rpg_byte_reset;
    increase(Increase::bytes);
  }
}

Instant ReactionPoint::next_increase() const noexcept {
  return limiting_ ? next_timed_ : Instant::max();
}

NotificationPoint::NotificationPoint(const DcqcnConfig& config) noexcept
    : gap_(microseconds(config.min_time_between_cnps_us)) {}

bool NotificationPoint::on_marked(Instant now) noexcept {
  if (sent_ && now < last_ + gap_) return false;
  last_ = now;
  sent_ = true;
  return true;
}

}  // namespace lw::transport
