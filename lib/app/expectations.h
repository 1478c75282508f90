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

/// The expectations on a command's results, from --expect and from [expect] of its profile, and the
/// file of --junit with their verdicts. Every report that the command prints is judged by the
/// figures in its JSON.
class Expectations {
 public:
  /// Adds --expect and --junit to a command.
  void add_options(Options& list);
  /// Adds --junit to a command whose --expect accepts more than paths of figures.
  void add_junit(Options& list);
  /// Adds expectations of figures: a profile's.
  void add(std::span<const Expectation> more);
  /// The file of --junit, for check_outputs().
  [[nodiscard]] NamedFile junit() const { return {"--junit", junit_}; }
  /// Before the run. Errors (usage): an expectation names no figure that a report of `output` can
  /// have, or compares it with a value of another kind; --junit without an expectation. `others`:
  /// the command has other checks.
  [[nodiscard]] Result<void> check(const JsonOutput& output, bool others = false) const;

  /// Adds judgements of what has a short name in the command: they are in the next report.
  void add_judgements(std::span<const report::Judgement> judgements, const std::string& suite);

  /// Judges a report and returns it with "expectations" added. `make` returns the report as a line
  /// of JSON, as for --json. Doesn't call `make`, and returns an empty text, if the report is
  /// neither `printed` nor judged. `suite`: name of the report in JUnit. `output`: the table of its
  /// figures; null: it has none.
  template <class Make>
  std::string judged(bool printed, Make make, const std::string& suite,
                     const JsonOutput* output = nullptr) {
    if (!printed && expectations_.empty()) return {};
    std::string line = make();
    judge(line, suite, output);
    return line;
  }
  /// The judgements in the report that judged() made last, as rows of a page.
  [[nodiscard]] std::vector<report::RequestedRow> last_rows() const;
  /// Adds the results of other checks to the JUnit file.
  void add_cases(std::span<const report::TestCase> cases);

  /// Returns a sentence for each judgement, for the end of a text report; empty without any.
  [[nodiscard]] std::string text() const;
  /// Writes the --junit file, whose errors are reported at the end of the program, and prints why
  /// expectations could not be judged. Returns done; failed if an expectation does not hold; usage
  /// if one names no figure, or compares a figure with a value of another kind.
  [[nodiscard]] ExitCode finish(std::string_view program) const;

 private:
  void judge(std::string& line, const std::string& suite, const JsonOutput* output);

  std::vector<Expectation> expectations_;
  std::string junit_;
  struct Judged {
    std::string suite;
    report::Judgement judgement;
  };
  std::vector<Judged> judged_;
  std::size_t last_ = 0, reported_ = 0;  // of judged_: begin and end of those in the last report
  std::vector<report::TestCase> cases_;
};

}  // namespace lw::app
