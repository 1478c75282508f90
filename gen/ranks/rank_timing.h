// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

#include "core/figure.h"
#include "core/time.h"
#include "gen/ranks/clock_comparison.h"

namespace lw::gen {

/// How the clock of a rank stood to that of rank 0.
struct RankClock {
  ClockDifference before;  // the run
  ClockDifference after;   // of the clock as corrected; no round trips if the run was stopped
  bool corrected = false;  // `before` was taken off the rank's time stamps
};

/// Clock and start of one rank of a common run.
struct RankTiming {
  RankClock clock;
  bool reported = false;  // false: its results are missing, and it is dead
  Duration late{0};       // of its start, after the agreed instant, by its clock

  /// Largest error of a time stamp of this rank, compared with the clock of rank 0.
  [[nodiscard]] Duration stamp_bound() const noexcept;
  static const FigureTable& figures();
};

/// When the ranks of a common run started.
struct CommonStart {
  Duration skew{0};   // from the first rank's start to the last one's
  Duration bound{0};  // by which the skew may be larger, as clocks differ
  Duration most{0};   // what is allowed, with the bound

  [[nodiscard]] bool holds() const noexcept { return skew + bound <= most; }
  /// What is wrong, if it does not hold.
  [[nodiscard]] std::string refusal() const;
  /// "the ranks started within 307 ns, wrong by at most 988 ns".
  [[nodiscard]] std::string text() const;
  static const FigureTable& figures();
};

/// When the ranks that have reported started. `most`: allowed skew.
CommonStart start_of(std::span<const RankTiming> ranks, Duration most);

/// Largest skew that a run allows unless --start-skew is given.
inline constexpr Duration kUsualSkew = std::chrono::milliseconds(1);

}  // namespace lw::gen
