// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/expectation.h"
#include "core/figure.h"
#include "dissect/compare/comparison.h"
#include "report/junit.h"

namespace lw::dissect {

/// A figure of one direction that --expect can limit.
struct Metric {
  enum class Kind : std::uint8_t { count, share, time };  // time: ns

  std::string_view name, help;
  Kind kind{};
  /// Nothing if there is no value: no delay was measured, no frame was sent.
  std::optional<double> (*measure)(const DirectionResult&) = nullptr;
};
std::span<const Metric> all_metrics();
bool is_metric(std::string_view name);

/// "loss<=0.1%": a value of the metric's kind: a count, a share or a time. A count may have a share
/// of the sent frames: "reordered<=1%".
struct MetricExpectation {
  Expectation limit;
  const Metric* metric = nullptr;
};
/// Errors: as parse_expectation(); an unknown metric, with the nearest name; a value of another
/// kind.
Parsed<MetricExpectation> parse_metric_expectation(std::string_view text);

/// Result of one expectation in one direction.
struct Judgement {
  std::string direction;  // "near > far"; empty where no direction was seen
  const MetricExpectation* expectation = nullptr;
  std::optional<double> measured;
  bool holds = false;

  /// `measured`, for JSON.
  [[nodiscard]] std::optional<FigureValue> value() const { return measured; }
  static const FigureTable& figures();
};
/// Judges each expectation for each direction that has frames. If no direction has any, nothing
/// holds. The expectations must outlive the result.
std::vector<Judgement> judge(std::span<const MetricExpectation> expectations,
                             const Comparison& comparison);

/// "0.1 %", "12", "1903.500 us", "none".
std::string measured_text(const Judgement& judgement);

report::TestCase test_case_of(const Judgement& judgement);

}  // namespace lw::dissect
