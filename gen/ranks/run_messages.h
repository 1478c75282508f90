// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/figure.h"
#include "gen/ranks/assignment.h"

namespace lw::gen {

/// What the ranks of a common run send to each other: JSON objects, written and read by the rows of
/// these tables.

/// What a rank says of itself, and why it can't take part.
struct Introduction {
  RankSelf self;
  std::string identity;  // of its profile and program; empty: none is needed
  std::string error;     // empty: it can take part
  std::int32_t exit = 0;
  static const FigureTable& figures();
};

/// All ranks, in their order.
struct RunPlan {
  std::vector<RankSelf> ranks;
  static const FigureTable& figures();
};

/// Why a run ends, and the exit code.
struct RunEnd {
  std::string reason;
  std::int32_t exit = 0;

  [[nodiscard]] ExitCode code() const noexcept { return static_cast<ExitCode>(exit); }
  static const FigureTable& figures();
};

/// When a rank starts, and how it corrects its clock.
struct RunStart {
  std::int64_t at = 0;    // ns of the clock that all share
  std::uint16_t run = 0;  // number in the signatures
  bool corrects = false;
  std::int64_t ahead = 0;  // ns that rank 0's clock is ahead
  std::uint8_t clock = 0;  // id and name of rank 0's clock
  std::string name;
  static const FigureTable& figures();
};

/// Frames that a rank, or all of them, have sent.
struct RankSent {
  std::uint64_t frames = 0;
  std::string failure;  // why it ended early; empty: it did not
  static const FigureTable& figures();
};

/// A rank's clock, in ns.
struct ClockReading {
  std::int64_t ns = 0;
  static const FigureTable& figures();
};

/// The results of a rank.
struct RankResults {
  std::string text;  // empty: it has none
  static const FigureTable& figures();
};

}  // namespace lw::gen
