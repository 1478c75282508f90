// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/time.h"

namespace lw::gen {

/// Least latency of the frames of one part of a trial, by clocks that need not agree.
struct PartDelay {
  std::optional<Duration> least;  // none: no frame shows it
  bool disturbed = false;         // this machine stood still: its latency tells nothing of the path
};

/// Whether the latency of a trial's frames grows: then a buffer on the path fills, and a longer
/// trial would lose frames.
///
/// A part has its least latency: a receiver that stands still for a moment delays frames, but not
/// all of a part. Disturbed parts are left out: what the latency is higher behind them came as a
/// burst and is no growth, so that the next part continues at the latency of the last one. The rest
/// is a line over ten tenths, each with its least value. It grows if the tenths rank upwards by
/// more than chance (Kendall's S of 27 or more of 45, which ten values in random order reach in
/// 0.8 % of all orders; M. Kendall, "Rank Correlation Methods", table 1), and if the last tenth
/// exceeds the first by more than twice the noise: the largest difference of a tenth from the line
/// through the first and the last.
class DelayTrend {
 public:
  static constexpr std::size_t kTenths = 10;

  /// `parts`: in order of time, at least kTenths.
  explicit DelayTrend(std::span<const PartDelay> parts);

  /// Growth of the latency in the whole trial, as far as the parts that are not disturbed show it:
  /// least latency of the last tenth minus that of the first. Nothing if a tenth has no frame, or
  /// half of the parts are disturbed.
  [[nodiscard]] std::optional<Duration> growth() const noexcept;
  /// Largest difference of a tenth from the line through the first and the last. Requires growth().
  [[nodiscard]] Duration noise() const noexcept;
  /// False if nobody can tell.
  [[nodiscard]] bool grows() const noexcept;

 private:
  [[nodiscard]] int rank_sum() const noexcept;

  std::vector<Duration> tenths_;  // least latencies; empty: not known
};

}  // namespace lw::gen
