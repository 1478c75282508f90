// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "dissect/compare/comparison.h"

namespace lw::dissect {

/// A figure of one direction that --expect can limit.
struct Metric {
  enum class Kind : std::uint8_t { count, share, time };  // time: ns

  std::string_view name, help;
  Kind kind{};
  /// Nothing where there is none: no delay was measured, no frame was sent.
  std::optional<double> (*measure)(const DirectionResult&) = nullptr;
};
std::span<const Metric> all_metrics();

/// "loss<=0.1%": a metric, one of <= < >= > == !=, and a value: a count, a share or a time. A count
/// may have a share of the sent frames: "reordered<=1%".
struct Expectation {
  enum class Relation : std::uint8_t { at_most, below, at_least, above, equal, other };

  std::string text;  // as given
  const Metric* metric = nullptr;
  Relation relation{};
  double value = 0;
  bool of_sent = false;  // `value` is a share of the sent frames
};
/// Errors: an unknown metric, with the nearest one; no relation; no value of the metric's kind.
Parsed<Expectation> parse_expectation(std::string_view text);

/// How one expectation does in one direction.
struct Judgement {
  std::string direction;  // "near > far"; empty where no direction was seen
  const Expectation* expectation = nullptr;
  std::optional<double> measured;
  bool holds = false;
};
/// Each expectation for each direction that has frames. Where none has, nothing holds. The
/// expectations must outlive the result.
std::vector<Judgement> judge(std::span<const Expectation> expectations,
                             const Comparison& comparison);

/// "0.1 %", "12", "1903.500 us", "none".
std::string measured_text(const Judgement& judgement);

/// A check with a result, for a JUnit file.
struct TestCase {
  std::string suite, name, measured;
  bool passed = false;
};
TestCase test_case_of(const Judgement& judgement);

/// JUnit's XML, as CI systems read it: a test suite a direction, a test case a check.
std::string junit_xml(std::span<const TestCase> cases);

}  // namespace lw::dissect
