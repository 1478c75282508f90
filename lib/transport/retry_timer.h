// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/qp_config.h"

namespace lw::transport {

/// How long a requester waits for an answer. As configured, always the same 4.096 us x 2^n. With
/// adaptive retransmission it begins at the measured round trip and four of its mean deviations
/// (RFC 6298's estimate, at least 1.5 round trips), and doubles with each expiry up to the
/// configured one: what makers call adaptive isn't published, this is our reading of it.
class RetryTimer {
 public:
  explicit RetryTimer(const QpConfig& config) noexcept
      : configured_(transport_timeout(config.timeout)),
        off_(config.timeout == 0),
        adaptive_(config.adaptive_retransmission) {}

  /// A round trip was measured, of a packet sent once only.
  void measured(Duration round_trip) noexcept {
    if (samples_++ == 0) {
      mean_ = round_trip;
      deviation_ = round_trip / 2;
      return;
    }
    const Duration error = round_trip - mean_;
    deviation_ += ((error < Duration{0} ? -error : error) - deviation_) / 4;
    mean_ += error / 8;
  }
  void expired() noexcept { doublings_ = std::min(doublings_ + 1, 30); }
  void progressed() noexcept { doublings_ = 0; }

  [[nodiscard]] Instant from(Instant now) const noexcept { return off_ ? kNever : now + wait(); }
  [[nodiscard]] Duration wait() const noexcept {
    if (!adaptive_ || samples_ == 0) return configured_;
    const Duration base = std::max(mean_ + 4 * deviation_, mean_ + mean_ / 2);
    return std::min(configured_, base * (std::int64_t{1} << doublings_));
  }
  /// The smoothed round trip; 0 before the first.
  [[nodiscard]] Duration round_trip() const noexcept { return mean_; }

 private:
  Duration configured_;
  Duration mean_{}, deviation_{};
  std::uint64_t samples_ = 0;
  int doublings_ = 0;
  bool off_, adaptive_;
};

}  // namespace lw::transport
