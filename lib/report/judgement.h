// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/expectation.h"
#include "core/figure.h"
#include "report/json_line.h"
#include "report/junit.h"

namespace lw::report {

/// How an expectation does in one report.
struct Judgement {
  std::string expected;  // the expectation as given
  std::string figure;    // its path in the report; of a name with * each one that it stands for
  std::string limit;     // "< 0.02"
  Json measured;         // as the report has it; null where it has none
  bool holds = false;
  std::string error = {};  // why it can't be judged: no such figure, or one of another kind

  /// The measured value; nothing where the report has none.
  [[nodiscard]] std::optional<FigureValue> value() const;
  /// The judgement as --json has it.
  static const FigureTable& figures();
};

/// The figures of a report that a name stands for, with their paths: "flows.web.lost" is the key
/// "lost" of that element of the list "flows" whose name is "web"; "flows.0.lost" the one of the
/// first element, "flows.*.lost" that of each. A list's element is named by its key "name",
/// "direction" or "port", or by its first one. Points into `report`.
std::vector<std::pair<std::string, const Json*>> figures_named(const Json& report,
                                                               std::string_view name);

/// The children of an object or a list, by the keys that a name has for them. Points into `node`.
std::vector<std::pair<std::string, const Json*>> children_of(const Json& node);

/// Judges an expectation by the figures that its name stands for; without one, by none: then
/// `error` names the figures whose names are near. A value with a unit needs a figure of that kind:
/// the table of `output` says it, or, without one, the figure's name (_ns, _usec, _bps, _gbps,
/// bytes, seconds, percent).
std::vector<Judgement> judge(const Expectation& expectation, const Json& report,
                             const JsonOutput* output = nullptr);

/// The judgement as a test case of `suite`.
TestCase test_case_of(const Judgement& judgement, std::string suite);

}  // namespace lw::report
