// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "core/expectation.h"
#include "core/output.h"
#include "core/question.h"
#include "core/verdict.h"
#include "report/junit.h"

namespace lw::app {

/// What is asked of a command's results, and the verdict on each report: the command's own
/// questions; the expectations of --expect and of [expect] of its profile, by the name of a
/// question or by the path of a figure in --json; and --strict-machine. --junit writes the
/// verdicts.
class Verdicts {
 public:
  /// `questions`: those of the command; must outlive it.
  explicit Verdicts(std::span<const Question> questions) : questions_(questions) {}

  /// Adds --expect and --junit to a command.
  void add_options(Options& list);
  /// Adds --strict-machine.
  void add_strict_option(Options& list);
  /// Adds expectations of a profile. Those with the name of a question of `elsewhere` are for
  /// another command that has the same profile: this run does not observe them.
  void add(std::span<const Expectation> more, std::span<const Question> elsewhere = {});
  /// The file of --junit, for check_outputs().
  [[nodiscard]] NamedFile junit() const { return {"--junit", junit_}; }
  /// Before the run. Error (usage): an expectation names no question and no figure that a report of
  /// `output` can have, or compares it with a value of another kind.
  [[nodiscard]] Result<void> check(const JsonOutput& output) const;

  /// Judges the observations of one report.
  [[nodiscard]] Judge judge() const;
  /// Judges a report by the observations that `judge` has and by the figures in its JSON, and
  /// returns it with "verdict" added. `make` returns the report as a line of JSON, as for --json.
  /// Doesn't call `make`, and returns an empty text, if the report is neither `printed` nor judged
  /// by a figure. `name`: of the report in JUnit. `output`: the table of its figures; null: it has
  /// none.
  template <class Make>
  std::string judged(Judge& judge, bool printed, Make make, std::string name,
                     const JsonOutput* output = nullptr) {
    std::string line;
    if (printed || figures_asked()) line = make();
    return complete(judge, std::move(line), std::move(name), output);
  }
  /// Judges the files again, as one that was written since may have failed: replaces the statement
  /// in the last verdict, and the verdict in the `line` that judged() returned.
  void update_files(std::string& line);
  /// The verdict on the report that judged() made last.
  [[nodiscard]] const Verdict& last() const { return reports_.back().verdict; }

  /// The first lines of a text report: the last verdict.
  [[nodiscard]] std::string text();
  /// The last lines of several text reports: all verdicts.
  [[nodiscard]] std::string all_text();
  /// Writes the --junit file, whose errors are reported at the end of the program. Prints the red
  /// statements on standard error if neither text() nor all_text() was called. Returns the exit
  /// code of all verdicts.
  [[nodiscard]] ExitCode finish(std::string_view program) const;

 private:
  struct Elsewhere {
    Expectation expectation;
    std::string_view where;
  };
  [[nodiscard]] bool figures_asked() const;
  [[nodiscard]] Verdict all() const;
  void forget_oldest();
  std::string complete(Judge& judge, std::string line, std::string name, const JsonOutput* output);

  std::span<const Question> questions_;
  std::vector<Expectation> expectations_;
  std::vector<Elsewhere> elsewhere_;
  std::string junit_;
  bool strict_ = false;
  bool shown_ = false;
  std::vector<report::NamedVerdict> reports_;
  ExitCode worst_ = ExitCode::done;
};

}  // namespace lw::app
