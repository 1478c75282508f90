// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/expectation.h"
#include "core/figure.h"
#include "report/json_line.h"
#include "report/junit.h"
#include "report/run_rows.h"

namespace lw::report {

/// How an expectation does.
struct Judgement {
  std::string of = {};        // what the figure is of: a flow, a direction; empty: the report
  std::string figure = {};    // its path in the report, one of those that * stands for; or its name
  std::string expected = {};  // the expectation as given
  std::string place = {};     // where it was read: "x.toml:3:8"
  std::string limit = {};     // "< 0.02"
  std::optional<FigureValue> measured = {};  // in the figure's own unit; none: nothing was measured
  std::string value = "none";                // `measured` as text: "0.156 %"
  bool holds = false;
  std::string error = {};  // why it can't be judged: no such figure, or one of another kind

  /// "web: loss 1.2 %, expected < 1 %: not met".
  [[nodiscard]] std::string sentence() const;
  /// The judgement as --json has it.
  static const FigureTable& figures();
};

/// Judges an expectation by the figures that its path stands for (figure_paths.h); without one, by
/// none: then `error` names the figures whose names are near. A value with a unit needs a figure of
/// that kind: the table of `output` says it, or, without one, the figure's name (_ns, _usec, _bps,
/// _gbps, bytes, seconds, percent).
std::vector<Judgement> judge(const Expectation& expectation, const Json& report,
                             const JsonOutput* output = nullptr);

/// Judges an expectation of a figure with a short name, `of` a flow or a direction. `measured` is
/// in `unit` (a share, ns, a count). `whole`: the limit is in shares of it.
Judgement judge_value(const Expectation& expectation, std::string of, Expectation::Unit unit,
                      std::optional<double> measured, double whole = 1);

/// Returns a value of a unit as text: "1.2 %", "2.1 ms", "12", "true".
std::string value_text(Expectation::Unit unit, double value);

/// The judgement as a test case of what it is of, or of `suite`.
TestCase test_case_of(const Judgement& judgement, const std::string& suite);

/// The judgement as a row of a run's page.
RequestedRow row_of(const Judgement& judgement);

}  // namespace lw::report
