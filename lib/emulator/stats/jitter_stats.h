// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/time.h"
#include "emulator/random/distribution.h"

namespace lw::emulator {

/// Mean and deviation of drawn delays, in ns. It sums distances from the first draw, which is at
/// most some deviations away from the mean, so rounding loses little and no frame costs a division.
struct DrawStats {
  std::uint64_t count = 0;
  double first = 0, sum = 0, sum_of_squares = 0;

  void add(double value, std::size_t times = 1) noexcept {
    if (count == 0) first = value;
    const double distance = value - first;
    count += times;
    sum += static_cast<double>(times) * distance;
    sum_of_squares += static_cast<double>(times) * distance * distance;
  }
  /// Adds draws one after the other.
  void add(std::span<const double> values) noexcept {
    if (values.empty()) return;
    if (count == 0) first = values[0];
    double all = sum, squares = sum_of_squares;
    for (const double value : values) {
      const double distance = value - first;
      all += distance;
      squares += distance * distance;
    }
    count += values.size();
    sum = all;
    sum_of_squares = squares;
  }
  [[nodiscard]] double mean() const noexcept {
    return count ? first + sum / static_cast<double>(count) : 0;
  }
  /// Sum of the squared distances from the mean.
  [[nodiscard]] double squares() const noexcept {
    return count ? sum_of_squares - sum * sum / static_cast<double>(count) : 0;
  }
  /// Adds draws whose distances are from another first draw.
  void add(const DrawStats& other) noexcept {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const auto its = static_cast<double>(other.count);
    const double apart = other.first - first;
    sum_of_squares += other.sum_of_squares + 2 * apart * other.sum + its * apart * apart;
    sum += other.sum + its * apart;
    count += other.count;
  }
};

/// Sixteen bins of about equal probability, for a test of a distribution's draws.
class FitBins {
 public:
  static constexpr std::size_t kBins = 16;

  explicit FitBins(const Distribution& distribution) {
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      const double below = static_cast<double>(i + 1) / kBins;
      edges_[i] = quantile(distribution, below, 1 - below);
    }
  }
  /// The bin of a draw; a draw on an edge belongs below it.
  [[nodiscard]] std::size_t operator()(double value) const noexcept {
    return static_cast<std::size_t>(std::ranges::lower_bound(edges_, value) - edges_.begin());
  }
  /// Number of bins: sixteen, or fewer for a distribution with probability at single values.
  [[nodiscard]] std::array<double, kBins> probabilities(const Distribution& distribution) const {
    std::array<double, kBins> result{};
    double before = 0;
    for (std::size_t i = 0; i < kBins; ++i) {
      const double up_to = i < edges_.size() ? cumulative(distribution, edges_[i]) : 1;
      result[i] = up_to - before;
      before = up_to;
    }
    return result;
  }

 private:
  std::array<double, kBins - 1> edges_{};
};

/// Samples of a correlated delay, far enough apart to be nearly independent. A second look one
/// half-life after each sample, if a frame arrives in time, measures the autocorrelation.
class CorrelatedStats {
 public:
  CorrelatedStats() = default;  // for uncorrelated jitter: never due
  explicit CorrelatedStats(Duration half_life) noexcept
      : half_life_(half_life), due_(Duration::min()) {}

  /// Time of the next sample: the first delay at this time or later.
  [[nodiscard]] Instant due() const noexcept { return due_; }
  /// Records the normal score at `t` (not before due()). Returns whether it is a sample.
  bool add_score(Instant t, double score) noexcept {
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
  /// Half the mean square of the scores' changes: 1 - c on average for pairs of correlation c.
  [[nodiscard]] double mean_half_square() const noexcept {
    return half_squares_ / static_cast<double>(pairs_);
  }
  /// Time between the two looks of a pair, in ns.
  [[nodiscard]] double mean_lag() const noexcept { return lags_ / static_cast<double>(pairs_); }

  DrawStats delays;  // delays at the samples, in ns

 private:
  /// A part of a half-life, different each time, so that samples do not fall on the same phase of
  /// the steps.
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
