// SPDX-License-Identifier: BSD-3-Clause
#include "transport/dcqcn.h"

#include <algorithm>
#include <cmath>

namespace lw::transport {
namespace {

constexpr double kUnits = 1024;  // alpha and G are in these
constexpr double kMega = 1e6;

/// At least a nanosecond, so that a period of 0 can't stop the clock.
Duration period_of(double us) noexcept { return std::max(Duration{1}, microseconds(us)); }

}  // namespace

Duration microseconds(double us) noexcept { return Duration{std::llround(us * 1000)}; }

ReactionPoint::ReactionPoint(const DcqcnConfig& config, double link_bps) noexcept
    : config_(config),
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
  alpha_at_ = now;
  timed_ = by_bytes_ = 0;
  limiting_ = true;
}

/// The rate has reached the highest one. The next CNP is a first one again.
void ReactionPoint::release() noexcept {
  current_ = target_ = most_;
  limiting_ = false;
  next_timed_ = Instant::max();
}

void ReactionPoint::on_cnp(Instant now) noexcept {
  advance(now);
  ++cnps_;
  if (!limiting_) {
    begin(now);
  } else if (now < last_cut_ + period_of(config_.rate_reduce_monitor_period_us)) {
    return;
  }
  cut(now);
}

void ReactionPoint::cut(Instant now) noexcept {
  const double before = alpha(now);
  const double raised = before * config_.dce_tcp_g / kUnits + (kUnits - config_.dce_tcp_g);
  const double used = config_.alpha_update == AlphaUpdate::before_cut ? raised : before;
  const bool increased = by_bytes_ > 0 || (timed_ > 0 && config_.clamp_tgt_rate_after_time_inc);
  if (config_.clamp_tgt_rate || increased) target_ = current_;
  const double less = current_ * (1 - used / std::ldexp(1.0, static_cast<int>(config_.rpg_gd)));
  current_ = std::max({less, current_ * config_.rpg_min_dec_fac_percent / 100, least_});
  alpha_ = raised;
  timed_ = by_bytes_ = 0;
  bytes_ = 0;
  last_cut_ = alpha_at_ = now;
  next_timed_ = now + period_of(config_.rpg_time_reset_us);
}

/// Alpha decays once in each of them.
std::int64_t ReactionPoint::periods_without_cnp(Instant now) const noexcept {
  return limiting_ ? (now - alpha_at_) / period_of(config_.dce_tcp_rtt_us) : 0;
}

double ReactionPoint::decay(std::int64_t periods) const noexcept {
  return periods > 0 ? std::pow(config_.dce_tcp_g / kUnits, static_cast<double>(periods)) : 1;
}

/// Fast recovery towards the target; from the threshold on, the target rises too: by one additive
/// step, or, where both counters are that far, by hyper steps that grow with the slower counter.
void ReactionPoint::increase(Increase kind) noexcept {
  std::uint32_t& events = kind == Increase::timed ? timed_ : by_bytes_;
  ++events;
  const auto [fewer, more] = std::minmax(timed_, by_bytes_);
  const std::uint32_t threshold = config_.rpg_threshold;
  if (config_.reduce_far_target && events == 1 && target_ > 10 * current_) {
    target_ /= 8;
  } else if (fewer > 0 && fewer >= threshold) {
    target_ += config_.rpg_hai_rate_mbps * kMega * (fewer - threshold + 1);
  } else if (more >= threshold) {
    target_ += config_.rpg_ai_rate_mbps * kMega;
  }
  target_ = std::min(target_, most_);
  current_ = (target_ + current_) / 2;
  if (current_ > most_ - kGranularityBps) release();
}

void ReactionPoint::increase_timed(Instant now) noexcept {
  const Duration period = period_of(config_.rpg_time_reset_us);
  while (next_timed_ <= now) {
    next_timed_ += period;
    increase(Increase::timed);
  }
}

void ReactionPoint::count_sent(std::uint32_t bytes, Instant now) noexcept {
  advance(now);
  if (config_.rpg_byte_reset <= 0) return;
  bytes_ += bytes;
  while (limiting_ && bytes_ >= config_.rpg_byte_reset) {
    bytes_ -= config_.rpg_byte_reset;
    increase(Increase::bytes);
  }
}

NotificationPoint::NotificationPoint(const DcqcnConfig& config) noexcept
    : gap_(period_of(config.min_time_between_cnps_us)) {}

bool NotificationPoint::on_marked(Instant now) noexcept {
  if (sent_ && now < last_ + gap_) return false;
  last_ = now;
  sent_ = true;
  return true;
}

}  // namespace lw::transport
