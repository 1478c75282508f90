// SPDX-License-Identifier: BSD-3-Clause
#include "app/expectations.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/figure_paths.h"
#include "report/figures/json.h"

namespace lw::app {
namespace {

constexpr std::size_t kMostMet = 20;  // sentences of what is as expected

}  // namespace

void Expectations::add_options(Options& list) {
  list.add("--expect",
           each(parse_expectation,
                [this](const Expectation& expectation) { expectations_.push_back(expectation); }),
           "EXPECTATION",
           "what must hold of the results: NAME<=VALUE, or < >= > == !=, where NAME is the path of "
           "a figure in --json; exit code 1 if it does not; may be given several times");
  add_junit(list);
}

void Expectations::add_junit(Options& list) {
  list.add("--junit", app::text(junit_), "FILE", "the result of each expectation as JUnit's XML");
}

void Expectations::add(std::span<const Expectation> more) {
  expectations_.insert(expectations_.end(), more.begin(), more.end());
}

Result<void> Expectations::check(const JsonOutput& output, bool others) const {
  for (const Expectation& each : expectations_)
    if (const auto fits = report::check_figure(each, output); !fits)
      return fail(fmt::format("{}: {}: {}", each.place, each.text, fits.error()));
  if (junit_.empty() || !expectations_.empty() || others) return {};
  return fail("--junit goes with --expect, or a profile with [expect]: it has their results");
}

void Expectations::add_judgements(std::span<const report::Judgement> judgements,
                                  const std::string& suite) {
  for (const report::Judgement& judgement : judgements) {
    cases_.push_back(report::test_case_of(judgement, suite));
    judged_.push_back({suite, judgement});
  }
}

void Expectations::judge(std::string& line, const std::string& suite, const JsonOutput* output) {
  last_ = reported_;
  if (expectations_.empty() && reported_ == judged_.size()) return;
  report::Json report = report::Json::parse(line);
  for (const Expectation& expectation : expectations_)
    add_judgements(report::judge(expectation, report, output), suite);
  for (; reported_ < judged_.size(); ++reported_)
    report["expectations"].push_back(report::json_of(judged_[reported_].judgement));
  line = report::json_line(report);
}

std::vector<report::RequestedRow> Expectations::last_rows() const {
  std::vector<report::RequestedRow> rows;
  for (std::size_t i = last_; i < reported_; ++i)
    rows.push_back(report::row_of(judged_[i].judgement));
  return rows;
}

void Expectations::add_cases(std::span<const report::TestCase> cases) {
  cases_.insert(cases_.end(), cases.begin(), cases.end());
}

std::string Expectations::text() const {
  const bool several = std::ranges::any_of(
      judged_, [&](const Judged& each) { return each.suite != judged_.front().suite; });
  std::string text;
  std::size_t met = 0, left_out = 0;
  for (const auto& [suite, each] : judged_) {
    if (each.holds && ++met > kMostMet) {
      ++left_out;
      continue;
    }
    text += (several ? suite + ": " : "") + each.sentence() + "\n";
  }
  if (left_out > 0) text += fmt::format("{} further expectations: met\n", left_out);
  return text;
}

ExitCode Expectations::finish(std::string_view program) const {
  if (!junit_.empty()) report_at_end(write_file(junit_, report::junit_xml(program, cases_)));
  ExitCode code = ExitCode::done;
  for (const auto& [suite, each] : judged_) {
    if (!each.holds) code = std::max(code, ExitCode::failed);
    if (!each.error.empty())
      code = std::max(code, print_error({each.place + ": " + each.expected + ": " + each.error}));
  }
  return code;
}

}  // namespace lw::app
