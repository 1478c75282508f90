// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/packet.h"
#include "transport/qp_config.h"

namespace lw::transport {

/// Rounds to ns.
Duration microseconds(double us) noexcept;

/// The reaction point of one flow: computes its sending rate. Until the first CNP, the rate is the
/// link rate and computing it costs nothing. Time is a parameter that never decreases.
///
/// A CNP cuts the rate; timed and byte increases raise it towards a target, which they raise too
/// once there were enough of them. The rules are those that NVIDIA's descriptions of the parameters
/// and ns-3 models of its NICs agree on; docs/reference/roce-gen-perf.md states them.
class ReactionPoint {
 public:
  /// Rates of NICs are whole Mb/s: a rate that is this close to the highest one has reached it.
  static constexpr double kGranularityBps = 1e6;

  /// `link_bps`: link rate in b/s, > 0. `config` outlives the object.
  ReactionPoint(const DcqcnConfig& config, double link_bps) noexcept;
  ReactionPoint(const DcqcnConfig&& config, double link_bps) = delete;

  void on_cnp(Instant now) noexcept;
  /// Counts sent bytes; may cause byte increases.
  void on_sent(std::uint32_t bytes, Instant now) noexcept {
    if (limiting_) count_sent(bytes, now);
  }
  /// Applies all timed increases that are due at `now`. A rate that reaches the highest one is no
  /// longer limited.
  void advance(Instant now) noexcept {
    if (next_timed_ <= now) increase_timed(now);
  }

  [[nodiscard]] bool limiting() const noexcept { return limiting_; }
  [[nodiscard]] double rate_bps() const noexcept { return current_; }
  [[nodiscard]] double target_bps() const noexcept { return target_; }
  /// In 1024ths. Only a CNP needs alpha, so its decay is computed then, and here.
  [[nodiscard]] double alpha(Instant now) const noexcept {
    return alpha_ * decay(periods_without_cnp(now));
  }
  /// When the next timed increase is due; Instant::max() while the rate isn't limited.
  [[nodiscard]] Instant next_increase() const noexcept { return next_timed_; }
  [[nodiscard]] std::uint64_t cnps_handled() const noexcept { return cnps_; }

 private:
  enum class Increase : std::uint8_t { bytes, timed };

  void begin(Instant now) noexcept;
  void release() noexcept;
  void cut(Instant now) noexcept;
  [[nodiscard]] std::int64_t periods_without_cnp(Instant now) const noexcept;
  [[nodiscard]] double decay(std::int64_t periods) const noexcept;
  void count_sent(std::uint32_t bytes, Instant now) noexcept;
  void increase_timed(Instant now) noexcept;
  void increase(Increase kind) noexcept;

  const DcqcnConfig& config_;
  double most_, least_;      // b/s
  double current_, target_;  // b/s
  double alpha_ = 0;
  double bytes_ = 0;                        // since the last byte increase
  std::uint32_t timed_ = 0, by_bytes_ = 0;  // increases since the last cut
  bool limiting_ = false;
  Instant next_timed_ = Instant::max();
  Instant alpha_at_;  // to which alpha_ applies
  Instant last_cut_;
  std::uint64_t cnps_ = 0;
};

/// The notification point of the flows in one CnpScope: decides whether a CE-marked frame causes a
/// CNP.
class NotificationPoint {
 public:
  explicit NotificationPoint(const DcqcnConfig& config) noexcept;
  /// True if the frame that arrived at `now` causes a CNP.
  bool on_marked(Instant now) noexcept;

 private:
  Duration gap_;
  Instant last_;
  bool sent_ = false;
};

/// Rate limit of a QP: computes when its next data packet may be sent.
class Pacing {
 public:
  /// `config` outlives it.
  explicit Pacing(const QpConfig& config) noexcept
      : control_(config.rate_control),
        below_link_(config.below_link_rate),
        fixed_bps_(config.rate_bps),
        reaction_(config.dcqcn, std::max(config.rate_bps, 1.0)) {}

  /// Earliest time of the next packet. The rate may rise before it, so ask again at wake().
  [[nodiscard]] Instant ready_at(Instant now) noexcept {
    if (!limits()) return Instant::min();
    if (control_ == RateControl::dcqcn) reaction_.advance(now);
    return last_ + Duration{static_cast<std::int64_t>(debt_bits_ * 1e9 / rate_bps())};
  }
  /// When to ask again, given that ready_at() is later than now.
  [[nodiscard]] Instant wake(Instant ready) const noexcept {
    return control_ == RateControl::dcqcn ? std::min(ready, reaction_.next_increase()) : ready;
  }

  /// Counts a sent packet. The rounding to ns is carried over to the next packet.
  void sent(const Packet& packet, Instant now) noexcept {
    if (!limits()) return;
    const std::uint32_t bytes = wire_bytes(packet);
    if (control_ == RateControl::dcqcn) reaction_.on_sent(bytes, now);
    const double bits = 8.0 * bytes;
    const double served = static_cast<double>((now - last_).count()) * rate_bps() * 1e-9;
    // A flow whose packet waited for the port keeps the credit of one packet: without it, QPs that
    // share a port lose a part of their rate with each wait. It is all that an idle flow gains.
    debt_bits_ = std::max(debt_bits_ - served, -bits) + bits;
    last_ = now;
  }
  void on_cnp(Instant now) noexcept {
    if (control_ != RateControl::dcqcn) return;
    reaction_.advance(now);
    if (!reaction_.limiting()) {  // counting starts now
      last_ = now;
      debt_bits_ = 0;
    }
    reaction_.on_cnp(now);
  }

  [[nodiscard]] double rate_bps() const noexcept {
    return control_ == RateControl::dcqcn ? reaction_.rate_bps() : fixed_bps_;
  }
  [[nodiscard]] const ReactionPoint& reaction() const noexcept { return reaction_; }

 private:
  [[nodiscard]] bool limits() const noexcept {
    if (control_ == RateControl::none) return false;
    return control_ == RateControl::fixed || below_link_ || reaction_.limiting();
  }

  RateControl control_;
  bool below_link_;
  double fixed_bps_;
  ReactionPoint reaction_;
  Instant last_;
  double debt_bits_ = 0;  // sent, minus what the rate allowed since last_
};

}  // namespace lw::transport
