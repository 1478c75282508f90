// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/expectation.h"
#include "core/verdict.h"

namespace lw {

/// A figure of a result that has a short name, and what a command asks of it unless an expectation
/// of that name does.
struct Question {
  std::string_view name;     // key of --expect and [expect]: "loss"
  std::string_view meaning;  // of the figure: "share of the frames sent that never came"
  Expectation::Unit unit{};  // share, time, rate, or none: a count
  std::string_view asked{};  // "every frame that was sent comes"; empty: only an expectation asks
  std::string_view limit{};  // the same as a comparison: "== 0"
  std::string_view where{};  // who observes it: "receiver"
  bool noted = false;        // a value beyond the limit is shown, in amber, and no failure
};

/// What a command asks of its results. Docs list them, made of the tables that each program has.
struct CommandQuestions {
  std::string_view command;                  // "run"
  std::span<const Question> questions = {};  // none: it describes, and judges nothing
  bool verdict = true;  // false: no verdict is printed; what does not hold is an error message
};

/// The value of a question's figure, of one flow, direction or port, or of the whole.
struct Observation {
  std::string name;
  std::string of = {};
  std::optional<double> value = {};  // in the question's unit: a share, ns, b/s, a count
  std::string text = {};             // a sentence; empty: the name and the value
  std::uint64_t count = 0;           // number of frames, samples or checks that it rests on
  double whole = 1;                  // of a count: a limit in shares is of this
  bool is_lower_bound = false;       // the true value may be larger
  std::string unsure = {};  // why there is no value, or what it leaves out: what holds is unknown
  std::string remark = {};  // what to know about it even if it holds
  std::string broken = {};  // what to know about it if the value is beyond the limit
  std::string remedy = {};  // what to do if it does not hold
  // Instead of the question's:
  std::string asked = {}, asked_by = {}, limit = {}, where = {};
  bool noted = false;
  ExitCode failure = ExitCode::failed;  // exit code if it does not hold
};

/// Judges the observations of a result by what was asked.
class Judge {
 public:
  /// `questions` must outlive it.
  Judge(std::span<const Question> questions, std::vector<Expectation> expectations);

  /// Judges by each expectation of the name, or by the question's limit if there is none.
  void add(const Observation& observation);
  void add(Judgement judgement) { verdict_.add(std::move(judgement)); }
  /// True if an expectation has this name.
  [[nodiscard]] bool expects(std::string_view name) const noexcept;
  /// The largest share that the expectations of this name permit; none: there are none.
  [[nodiscard]] std::optional<double> most(std::string_view name) const noexcept;
  /// All judgements. The answer to expectations that were not judged is unknown.
  [[nodiscard]] Verdict finish();

 private:
  struct Asked {
    Expectation expectation;
    bool judged = false;
  };
  std::span<const Question> questions_;
  std::vector<Asked> expectations_;
  Verdict verdict_;
};

/// Asked by every command that writes files.
inline constexpr Question kFileQuestion{
    .name = "file",
    .meaning = "files that could not be read or written to their end",
    .asked = "every file is read and written to its end",
    .limit = "== 0",
    .where = "files"};

/// Returns the question of this name; null: none.
const Question* find_question(std::span<const Question> questions, std::string_view name) noexcept;

/// Checks an expectation of a question's name. Error: its value is of another kind than the figure.
Parsed<void> check_question(const Expectation& expectation, const Question& question);

/// The names for the help of --expect: ", or one of loss, rate"; empty: there are none.
std::string question_names(std::span<const Question> questions);

/// Returns a value of a unit as text: "1.2 %", "2.1 ms", "12", "true".
std::string value_text(Expectation::Unit unit, double value);

}  // namespace lw
