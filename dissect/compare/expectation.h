// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/expectation.h"
#include "dissect/compare/comparison.h"
#include "report/judgement.h"

namespace lw::dissect {

/// A figure of one direction that --expect can limit by a short name.
struct Metric {
  std::string_view name, help;
  Expectation::Unit unit{};  // share, time, or none for a count of frames
  /// Nothing if there is no value: no delay was measured, no frame was sent.
  std::optional<double> (*measure)(const DirectionResult&) = nullptr;
};
std::span<const Metric> all_metrics();
bool is_metric(std::string_view name);

/// Reads "loss<=0.1%": a value of the metric's unit; a count may have a share of the sent frames:
/// "reordered<=1%". Errors: as parse_expectation(); an unknown metric, with the nearest name; a
/// value of another kind.
Parsed<Expectation> parse_metric_expectation(std::string_view text);

/// Judges each expectation for each direction that has frames. If no direction has any, nothing
/// holds.
std::vector<report::Judgement> judge(std::span<const Expectation> expectations,
                                     const Comparison& comparison);

}  // namespace lw::dissect
