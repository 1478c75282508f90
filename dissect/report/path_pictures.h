// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

#include "dissect/matching/comparison.h"
#include "report/json_line.h"

namespace lw::dissect {

/// Two points of a path, and what happened between them.
struct PicturedPair {
  Records near, far;  // far without the steps of its clock
  const Comparison& found;
  std::span<const roce::FlowKey> flows;  // by number
};

/// Limits of a page.
inline constexpr std::size_t kMostPlottedFlows = 16;  // those with most losses, then most frames
inline constexpr std::size_t kMostPlottedDelays = 1500, kMostPlottedLosses = 1500;  // of a flow
inline constexpr std::size_t kDelayBins = 60;  // from the shortest delay to the 99.9th percentile

/// Data of one direction for path.js: delays over time, losses, outages and steps, the
/// distribution, for all flows together and for each of some; and a table of the lost frames. Times
/// are in ns from `begin_ns`, a text, by the near clock. `name`: "near > far".
report::Json direction_picture(const PicturedPair& pair, bool goes_far, const std::string& name);

}  // namespace lw::dissect
