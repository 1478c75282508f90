// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "core/expectation.h"
#include "core/output.h"
#include "report/judgement.h"

namespace lw::app {

/// What must hold of a command's results: --expect, and [expect] of its profile; and --junit, the
/// file of the verdicts. Each report that the command prints is judged by the figures of its JSON.
class Expectations {
 public:
  /// Adds --expect and --junit to a command.
  void add_options(Options& list);
  /// Adds --junit to a command whose --expect takes more than paths of figures.
  void add_junit(Options& list);
  /// Adds those of a profile.
  void add(std::span<const Expectation> more);
  /// The file of --junit, for check_outputs().
  [[nodiscard]] NamedFile junit() const { return {"--junit", junit_}; }
  /// Errors (usage): --junit without an expectation. `others`: the command has other checks.
  [[nodiscard]] Result<void> check(bool others = false) const;

  /// The report that `make` returns, a line of JSON as --json prints it, judged, with
  /// "expectations" added. Empty, and not made, where it is neither `printed` nor judged. `suite`:
  /// what the report is of, for JUnit.
  template <class Make>
  std::string judged(bool printed, Make make, const std::string& suite) {
    if (!printed && expectations_.empty()) return {};
    std::string line = make();
    judge(line, suite);
    return line;
  }
  /// Adds the results of other checks to JUnit's file.
  void add_cases(std::span<const report::TestCase> cases);

  /// The table of judgements that a text report ends with; empty without --expect.
  [[nodiscard]] std::string text() const;
  /// Writes --junit, whose errors are reported at the end of the program, and prints why an
  /// expectation could not be judged. Returns done; failed, where one does not hold; usage, where
  /// one names no figure or compares it with a value of another kind.
  [[nodiscard]] ExitCode finish(std::string_view program) const;

 private:
  void judge(std::string& line, const std::string& suite);

  std::vector<Expectation> expectations_;
  std::string junit_;
  struct Judged {
    std::string suite;
    report::Judgement judgement;
  };
  std::vector<Judged> judged_;
  std::vector<report::TestCase> cases_;
};

}  // namespace lw::app
