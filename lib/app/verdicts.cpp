// SPDX-License-Identifier: BSD-3-Clause
#include "app/verdicts.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/machine_questions.h"
#include "report/figure_paths.h"
#include "report/verdict.h"

namespace lw::app {
namespace {

constexpr std::size_t kMostReports = 1'000;  // kept of a command that runs until a signal
constexpr std::size_t kMostPrinted = 20;     // red statements on standard error

/// The files that were closed so far.
Observation observed_files() {
  Observation files{.name = "file", .value = 0, .text = "every file was read and written"};
  for (const Error& error : kept_errors()) {
    if (error.message.empty()) continue;  // the reader of standard output left
    files.text = *files.value == 0 ? error.message : files.text + "; " + error.message;
    files.value = *files.value + 1;
    files.failure = std::max(files.failure, error.exit);
  }
  return files;
}

}  // namespace

void Verdicts::add_options(Options& list) {
  list.add("--expect",
           each(parse_expectation,
                [this](const Expectation& expectation) { expectations_.push_back(expectation); }),
           "EXPECTATION",
           "what must hold of the results, exit code 1 if it does not: NAME<=VALUE, or < >= > == "
           "!=, where NAME is the path of a figure in --json" +
               question_names(questions_));
  list.add("--junit", app::text(junit_), "FILE", "each statement of the verdict as JUnit's XML");
}

void Verdicts::add_strict_option(Options& list) {
  list.add_flag("--strict-machine", strict_,
                "any frame that this machine lost is a failure, and a stall of more than 100 ms");
}

void Verdicts::add(std::span<const Expectation> more, std::span<const Question> elsewhere) {
  for (const Expectation& each : more) {
    const Question* other = find_question(elsewhere, each.name);
    if (other != nullptr)
      elsewhere_.push_back({each, other->where});
    else
      expectations_.push_back(each);
  }
}

Result<void> Verdicts::check(const JsonOutput& output) const {
  for (const Expectation& each : expectations_) {
    const Question* question = find_question(questions_, each.name);
    const auto fits =
        question != nullptr ? check_question(each, *question) : report::check_figure(each, output);
    if (!fits) return fail(fmt::format("{}: {}: {}", each.place, each.text, fits.error()));
  }
  return {};
}

bool Verdicts::figures_asked() const {
  return std::ranges::any_of(expectations_, [this](const Expectation& each) {
    return find_question(questions_, each.name) == nullptr;
  });
}

Judge Verdicts::judge() const { return {questions_, named()}; }

std::vector<Expectation> Verdicts::named() const {
  std::vector<Expectation> named;
  for (const Expectation& each : expectations_)
    if (find_question(questions_, each.name) != nullptr) named.push_back(each);
  if (strict_)
    for (const Expectation& each : strict_machine(questions_)) named.push_back(each);
  return named;
}

std::string Verdicts::complete(Judge& judge, std::string line, std::string name,
                               const JsonOutput* output) {
  judge.add(observed_files());
  Verdict verdict = judge.finish();
  if (figures_asked()) {
    const report::Json report = report::Json::parse(line);
    for (const Expectation& each : expectations_)
      if (find_question(questions_, each.name) == nullptr)
        for (Judgement& judgement : report::judge_figures(each, report, output))
          verdict.add(std::move(judgement));
  }
  for (const auto& [expectation, where] : elsewhere_)
    verdict.add({.name = expectation.name,
                 .asked = expectation.text,
                 .observed = expectation.name + " is not observed here",
                 .reason = fmt::format("the {} observes it", where)});
  if (!line.empty()) report::add_verdict(line, verdict);
  reports_.push_back({std::move(name), std::move(verdict)});
  if (reports_.size() > kMostReports) forget_oldest();
  return line;
}

void Verdicts::update_files(std::string& line) {
  Verdict& verdict = reports_.back().verdict;
  std::string before = "{}";  // as long as what the line has behind its figures
  report::add_verdict(before, verdict);
  Judge judge(questions_, {});
  judge.add(observed_files());
  verdict.replace(judge.finish());
  if (line.empty()) return;
  line.erase(line.size() - before.size());  // ,"verdict":{...}}, and the newline
  line += "}\n";
  report::add_verdict(line, verdict);
}

void Verdicts::forget_oldest() {
  const auto oldest = std::ranges::find_if(reports_, [](const report::NamedVerdict& each) {
    return each.verdict.colour() == Colour::green;
  });
  worst_ = std::max(worst_, reports_.front().verdict.exit());
  reports_.erase(oldest == reports_.end() ? reports_.begin() : oldest);
}

Verdict Verdicts::all() const {
  if (reports_.size() == 1) return last();
  Verdict all;
  for (const auto& [name, verdict] : reports_)
    for (Judgement each : verdict.all()) {
      each.of = each.of.empty() ? name : name + ", " + each.of;
      all.add(std::move(each));
    }
  return all;
}

std::string Verdicts::text() {
  shown_ = true;
  return report::text_of(last());
}

std::string Verdicts::all_text() {
  shown_ = true;
  return report::text_of(all());
}

ExitCode Verdicts::finish(std::string_view program) const {
  if (!junit_.empty()) report_at_end(write_file(junit_, report::junit_xml(program, reports_)));
  const Verdict verdict = all();
  std::size_t printed = 0;
  for (const Judgement* each : verdict.remarkable())
    if (!shown_ && each->colour() == Colour::red && ++printed <= kMostPrinted)
      print_error({each->sentence()});
  if (printed > kMostPrinted)
    print_error({fmt::format("and {} further statements do not hold", printed - kMostPrinted)});
  return std::max(worst_, verdict.exit());
}

}  // namespace lw::app
