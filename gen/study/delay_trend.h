// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "core/time.h"

namespace lw::gen {

/// Whether the latency of a trial's frames grows: then a buffer on the path fills, and a longer
/// trial would lose frames. One thread; reads no clock.
///
/// Each tenth of the trial, by send time, has its least latency: a receiver that stands still for a
/// moment delays frames, but not all of a tenth. Latency grows if the tenths rank upwards by more
/// than chance (Kendall's S of 27 or more of 45, which ten values in random order reach in 0.8 % of
/// all orders; M. Kendall, "Rank Correlation Methods", table 1), and if the last tenth exceeds the
/// first by more than twice the noise: the largest difference of a tenth from the line through the
/// first and the last.
class DelayTrend {
 public:
  static constexpr std::size_t kParts = 10;

  /// `span`: time from the first to the last frame of the trial, > 0.
  explicit DelayTrend(Duration span) noexcept : span_(span) {}

  /// A frame that was sent at `sent` and took `latency`, both by clocks that need not agree. Frames
  /// may come in any order; the first one that comes begins the first tenth.
  void add(Instant sent, Duration latency) noexcept;

  /// Least latency of the last tenth minus that of the first; nothing if a tenth has no frame.
  [[nodiscard]] std::optional<Duration> growth() const noexcept;
  /// Largest difference of a tenth from the line through the first and the last. Requires growth().
  [[nodiscard]] Duration noise() const noexcept;
  /// False if nobody can tell.
  [[nodiscard]] bool grows() const noexcept;

 private:
  [[nodiscard]] int rank_sum() const noexcept;

  Duration span_;
  std::optional<Instant> first_;
  std::array<std::optional<Duration>, kParts> least_;  // by tenth
};

}  // namespace lw::gen
