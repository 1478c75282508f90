// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/chance.h"
#include "core/quantity.h"
#include "core/time.h"
#include "emulator/random/distribution.h"
#include "emulator/random/sampler.h"

namespace lw::emulator {

/// A standard normal variable, correlated in time: at any instant it is normal with mean 0 and
/// variance 1, and its correlation with itself falls by half in every half-life. It is a function
/// of time and its draws alone, however often it is read.
///
/// Eight times in a half-life an autoregressive chain takes a step; in between the value is the
/// two neighbours' weighted mean, scaled back to variance 1. So it moves steadily, and a delay
/// that follows it keeps frames in order by itself as long as it changes by less than the time
/// that passes: no release has to be moved, so none is biased. (The idea is DPDS's.)
class ScoreProcess {
 public:
  /// half_life >= 8 ns. `chance`: one draw a step.
  ScoreProcess(Duration half_life, Chance chance) noexcept;

  /// The value at `t`. Cheap when `t` is in the same step as before, or soon after.
  [[nodiscard]] double at(Instant t) noexcept;

 private:
  [[nodiscard]] double innovation(std::int64_t step) const noexcept;
  /// The chain at `step`, where it was at `value` one step before.
  [[nodiscard]] double after(double value, std::int64_t step) const noexcept;
  [[nodiscard]] double chain_at(std::int64_t step) const noexcept;
  void move_to(std::int64_t step) noexcept;

  Chance chance_;
  std::int64_t step_ns_;
  double kept_;                    // the chain's correlation from step to step
  double renewed_;                 // sqrt(1 - kept^2)
  std::int64_t step_ = INT64_MAX;  // none yet
  double here_ = 0, next_ = 0;     // the chain at step_ and one further
};

class StageKeys;

/// What comes on top of a rule's constant delay.
struct JitterConfig {
  Distribution distribution;
  /// The correlation of the distribution's normal score with itself halves in this time; none:
  /// each frame draws for itself.
  std::optional<Duration> half_life;
  friend bool operator==(const JitterConfig&, const JitterConfig&) = default;
};

/// A distribution, read by its normal score: what a correlated score is turned into a delay with.
class ScoreTable {
 public:
  explicit ScoreTable(const Distribution& distribution);

  /// The delay, ns, where a standard normal variable is at `score`.
  [[nodiscard]] double operator()(double score) const noexcept {
    const double place = std::clamp((score + kEnd) * kNodesAUnit, 0.0, kNodes - 1.0);
    const auto node = static_cast<std::size_t>(place);
    return nodes_[node] + (nodes_[node + 1] - nodes_[node]) * (place - static_cast<double>(node));
  }

 private:
  static constexpr double kEnd = 7, kNodesAUnit = 512;
  static constexpr std::size_t kNodes = static_cast<std::size_t>(2 * kEnd * kNodesAUnit);
  std::vector<double> nodes_;
};

/// The varying part of a rule's delay.
class Jitter {
 public:
  Jitter(const JitterConfig& config, Chance chance);

  /// ns, of the frame with this number that is at `t`; `copy` 0 for the frame itself. May be
  /// negative where the distribution is.
  [[nodiscard]] double operator()(std::uint64_t number, std::uint32_t copy, Instant t) noexcept {
    if (process_) return at(t);
    return (*sampler_)(chance_.bits(number, copy));
  }
  [[nodiscard]] bool is_correlated() const noexcept { return process_.has_value(); }
  /// The normal score that the delay at `t` follows. Only for correlated jitter.
  [[nodiscard]] double score(Instant t) noexcept { return process_->at(t); }
  /// The delay at `t`. Only for correlated jitter.
  [[nodiscard]] double at(Instant t) noexcept { return (*table_)(process_->at(t)); }
  /// The delays of as many frames as `out` has room for, kMostTogether at most; the first has the
  /// number `first`, and none is a copy. Not for correlated jitter.
  static constexpr std::size_t kMostTogether = 32;
  void draw(std::uint64_t first, std::span<double> out) const noexcept {
    std::array<std::uint64_t, kMostTogether> bits;
    const auto drawn = std::span(bits).first(out.size());
    chance_.bits(first, 0, drawn);
    (*sampler_)(drawn, out);
  }

 private:
  Chance chance_;
  std::optional<Sampler> sampler_;  // for independent draws,
  std::optional<ScoreProcess> process_;
  std::optional<ScoreTable> table_;  // these two for correlated ones
};

/// To the nearest, within three years: a heavy tail's draw may be any number.
inline Duration whole_ns(double delay) noexcept {
  constexpr double kMost = 1e17;
  return Duration{static_cast<Duration::rep>(std::clamp(std::floor(delay + 0.5), -kMost, kMost))};
}

/// Lines of "low,high,weight", times with units ("10us,20us,5"); a heading and lines that begin
/// with # are skipped. The error names the line.
Parsed<BinnedDelay> parse_delay_histogram(std::string_view csv);
/// A distribution in the format of netem's /usr/lib/tc/NAME.dist: whole numbers, in 8192ths of the
/// deviation from the mean.
Parsed<BinnedDelay> parse_netem_distribution(std::string_view text, double mean_ns,
                                             double deviation_ns);

/// Reads the table of a rule's `jitter` key. Nothing where it is absent or names no distribution.
std::optional<JitterConfig> read_jitter(const StageKeys& rule);

}  // namespace lw::emulator
