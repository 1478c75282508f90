// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/random/loss_config.h"
#include "emulator/stats/audit.h"

namespace lw::emulator {

/// A loss model as a Markov chain whose states say whether a frame is lost. The audit computes the
/// expected losses from it, independently of the stage's code.
struct LossChain {
  static constexpr std::size_t kStates = 4;
  template <class T>
  using EachState = std::array<T, kStates>;
  using Matrix = EachState<EachState<double>>;

  Matrix step{};   // step[i][j]: probability that state j follows state i
  Matrix first{};  // the same for the first frame, from the model's state before it
  EachState<bool> lost{};
  EachState<bool> reached{};  // from state 0, in which the model begins
};

LossChain chain_of(const GilbertElliott& model) noexcept;
LossChain chain_of(const FourState& model) noexcept;

/// The mean length of a run of lost frames in the long run; nothing if it depends on the first
/// state, because the chain has states from which others are never reached.
std::optional<double> mean_burst(const LossChain& chain) noexcept;

/// Bounds of a sum, exceeded in at most one of 10^5 runs.
struct LikelyRange {
  double low = 0, high = 0;
};

/// Bounds of the number of lost frames among `frames` (> 0), less `of_burst` for each burst that
/// begins among them, for any state before the first frame (which counts as arrived). Chernoff's
/// bound from the exact moments of the sum, so it holds for few frames and rare bursts too.
LikelyRange likely_losses(const LossChain& chain, std::uint64_t frames, double of_burst) noexcept;

// A mean of fewer draws of a skewed distribution is not yet normal.
inline constexpr std::uint64_t kFewestDraws = 1000;

/// Checks the losses of the rule's loss model.
void audit_loss(const LossConfig& config, const RuleStats& stats, std::vector<Check>& checks);
/// Checks the losses of the trace's rows.
void audit_traced_loss(const TraceConfig& trace, const RuleStats& stats,
                       std::vector<Check>& checks);
void audit_jitter(const JitterConfig& jitter, const RuleStats& stats, std::vector<Check>& checks);

}  // namespace lw::emulator
