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

/// A standard normal variable that is correlated in time: at any instant it has mean 0 and variance
/// 1, and its autocorrelation halves with every half-life. Its value depends on time and draws
/// only, not on how often it is read.
///
/// An autoregressive chain takes eight steps in a half-life; between two steps the value is their
/// weighted mean, scaled to variance 1. The value changes steadily, so a delay that follows it
/// keeps frames in order as long as it changes by less than the time that passes: no release has to
/// be moved, so none is biased. (The idea comes from DPDS.)
class ScoreProcess {
 public:
  /// half_life >= 8 ns. `chance` gives one draw for each step.
  ScoreProcess(Duration half_life, Chance chance) noexcept;

  /// The value at `t`. Cheap when `t` is in the same step as before, or soon after.
  [[nodiscard]] double at(Instant t) noexcept;

 private:
  [[nodiscard]] double innovation(std::int64_t step) const noexcept;
  /// The value of the chain at `step`, if it was `value` one step before.
  [[nodiscard]] double after(double value, std::int64_t step) const noexcept;
  [[nodiscard]] double chain_at(std::int64_t step) const noexcept;
  void move_to(std::int64_t step) noexcept;

  Chance chance_;
  std::int64_t step_ns_;
  double kept_;                    // correlation of two successive steps
  double renewed_;                 // sqrt(1 - kept^2)
  std::int64_t step_ = INT64_MAX;  // none yet
  double here_ = 0, next_ = 0;     // the chain at step_ and one further
};

class StageKeys;

/// The varying delay of a rule, in addition to its constant delay.
struct JitterConfig {
  Distribution distribution;
  /// Time in which the autocorrelation of the normal score halves; none: frames draw independently.
  std::optional<Duration> half_life;
  friend bool operator==(const JitterConfig&, const JitterConfig&) = default;
};

/// A table of a distribution by normal score. It turns a correlated score into a delay.
class ScoreTable {
 public:
  explicit ScoreTable(const Distribution& distribution);

  /// The delay, in ns, at the quantile of a standard normal `score`.
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

  /// The delay, in ns, of the frame with this number at `t`; `copy` is 0 for the frame itself. It
  /// may be negative if the distribution allows it.
  [[nodiscard]] double operator()(std::uint64_t number, std::uint32_t copy, Instant t) noexcept {
    if (process_) return at(t);
    return (*sampler_)(chance_.bits(number, copy));
  }
  [[nodiscard]] bool is_correlated() const noexcept { return process_.has_value(); }
  /// The normal score that the delay at `t` follows. Only for correlated jitter.
  [[nodiscard]] double score(Instant t) noexcept { return process_->at(t); }
  /// The delay at `t`. Only for correlated jitter.
  [[nodiscard]] double at(Instant t) noexcept { return (*table_)(process_->at(t)); }
  /// Fills `out` (at most kMostTogether) with the delays of frames `first`, `first` + 1, ..., none
  /// of which is a copy. Not for correlated jitter.
  static constexpr std::size_t kMostTogether = 32;
  void draw(std::uint64_t first, std::span<double> out) const noexcept {
    std::array<std::uint64_t, kMostTogether> bits;
    const auto drawn = std::span(bits).first(out.size());
    chance_.bits(first, 0, drawn);
    (*sampler_)(drawn, out);
  }

 private:
  Chance chance_;
  std::optional<Sampler> sampler_;  // for independent draws
  std::optional<ScoreProcess> process_;
  std::optional<ScoreTable> table_;  // for correlated draws, with process_
};

/// Rounds to the nearest ns, limited to three years: a draw from a heavy tail may be arbitrarily
/// large.
inline Duration whole_ns(double delay) noexcept {
  constexpr double kMost = 1e17;
  return Duration{static_cast<Duration::rep>(std::clamp(std::floor(delay + 0.5), -kMost, kMost))};
}

/// Parses lines "low,high,weight" whose times have units ("10us,20us,5"). Skips a heading and lines
/// that begin with #. The error names the line.
Parsed<BinnedDelay> parse_delay_histogram(std::string_view csv);
/// Parses a time a line ("12us"), all equally likely; at most as many as a histogram has lines.
/// Skips a heading and lines that begin with #. The error names the line.
Parsed<BinnedDelay> parse_delay_values(std::string_view csv);
/// A distribution in the format of netem's /usr/lib/tc/NAME.dist: whole numbers, in 8192ths of the
/// deviation from the mean.
Parsed<BinnedDelay> parse_netem_distribution(std::string_view text, double mean_ns,
                                             double deviation_ns);

/// Even from -`most` to `most`, and so slow that frames keep their order without a bias: its
/// half-life is more than twelve standard deviations.
JitterConfig slow_jitter(Duration most);

/// Reads the key `distribution` of a table, and the keys that go with it. Nothing if it names none
/// (reported).
std::optional<Distribution> read_distribution(const StageKeys& table);
/// Reads a rule's `jitter` key: a time, for slow_jitter(), or a table. Nothing if it is absent or
/// names no distribution.
std::optional<JitterConfig> read_jitter(const StageKeys& rule);

}  // namespace lw::emulator
