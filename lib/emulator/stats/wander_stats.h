// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>

#include "core/time.h"
#include "emulator/stats/draw_stats.h"

namespace lw::emulator {

/// A wandering delay, looked at now and then: at samples so far apart that they are as good as
/// independent, and once more a half-life after each, where a frame comes in time, to see what is
/// left of it.
class WanderStats {
 public:
  WanderStats() = default;  // of a delay that doesn't wander: never due
  explicit WanderStats(Duration half_life) noexcept
      : half_life_(half_life), due_(Duration::min()) {}

  /// The first delay at this time or after it is to be looked at.
  [[nodiscard]] Instant due() const noexcept { return due_; }
  /// Where the normal score is at `t`, not before due(). True if it is a sample.
  bool look(Instant t, double score) noexcept {
    if (in_pair_) {
      in_pair_ = false;
      if (t - sampled_at_ <= half_life_ + half_life_ / 8) add_pair(t - sampled_at_, score);
      due_ = sampled_at_ + 4 * half_life_ + off_beat();
      if (t < due_) return false;
    }
    in_pair_ = true;
    sampled_at_ = t;
    sampled_ = score;
    ++samples_;
    due_ = t + half_life_;
    return true;
  }

  [[nodiscard]] std::uint64_t pairs() const noexcept { return pairs_; }
  /// Of the scores' changes; of pairs of correlation c it is 1 - c on average.
  [[nodiscard]] double mean_half_square() const noexcept {
    return half_squares_ / static_cast<double>(pairs_);
  }
  /// Between the two looks of a pair, ns.
  [[nodiscard]] double mean_lag() const noexcept { return lags_ / static_cast<double>(pairs_); }

  DrawStats delays;  // at the samples, ns

 private:
  /// Part of a half-life, another each time, so that samples don't fall on the same place of the
  /// steps in which scores move.
  [[nodiscard]] Duration off_beat() const noexcept {
    constexpr double kGolden = 0.6180339887498949;
    const double turns = static_cast<double>(samples_) * kGolden;
    return Duration{static_cast<Duration::rep>((turns - std::floor(turns)) *
                                               static_cast<double>(half_life_.count()))};
  }
  void add_pair(Duration lag, double score) noexcept {
    ++pairs_;
    lags_ += static_cast<double>(lag.count());
    half_squares_ += (score - sampled_) * (score - sampled_) / 2;
  }

  Duration half_life_{};
  Instant due_ = Instant::max();
  Instant sampled_at_{};
  double sampled_ = 0;
  bool in_pair_ = false;
  std::uint64_t samples_ = 0, pairs_ = 0;
  double lags_ = 0, half_squares_ = 0;
};

}  // namespace lw::emulator
