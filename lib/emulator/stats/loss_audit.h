// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/stages/loss_config.h"
#include "emulator/stats/audit.h"

namespace lw::emulator {

/// A model of losses as a Markov chain each of whose states says whether its frame is lost: what
/// its losses are held against, computed apart from the stage.
struct LossChain {
  static constexpr std::size_t kStates = 4;
  template <class T>
  using EachState = std::array<T, kStates>;
  using Matrix = EachState<EachState<double>>;

  Matrix step{};   // step[i][j]: how likely a frame in state i is followed by one in state j
  Matrix first{};  // for the first frame, by the state of the model before it
  EachState<bool> lost{};
  EachState<bool> reached{};  // from state 0, in which the model begins
};

LossChain chain_of(const GilbertElliott& model) noexcept;
LossChain chain_of(const FourState& model) noexcept;

/// How many frames in a row are lost on average in the long run; nothing where that hangs on the
/// frames before, because there are states that are never left for others.
std::optional<double> mean_burst(const LossChain& chain) noexcept;

/// Where a sum lies but for chance: outside at most once in 10^5 runs.
struct LikelyRange {
  double low = 0, high = 0;
};

/// Of `frames` frames, > 0, how many are lost, less `of_burst` for each burst that begins among
/// them, whatever the chain's state before the first (which counts as arrived). Chernoff's bound
/// by the sum's exact moments, so that it holds for few frames and rare bursts, too.
LikelyRange likely_losses(const LossChain& chain, std::uint64_t frames, double of_burst) noexcept;

// A mean of fewer draws isn't normal yet where the distribution is skewed.
inline constexpr std::uint64_t kFewestDraws = 1000;

/// By the rule's own model.
void audit_loss(const LossConfig& config, const RuleStats& stats, std::vector<Check>& checks);
/// By the trace's rows.
void audit_traced_loss(const TraceConfig& trace, const RuleStats& stats,
                       std::vector<Check>& checks);
void audit_jitter(const JitterConfig& jitter, const RuleStats& stats, std::vector<Check>& checks);

}  // namespace lw::emulator
