// SPDX-License-Identifier: BSD-3-Clause
#include "app/expectations.h"

#include <algorithm>
#include <utility>

#include "report/figures/json.h"
#include "report/table.h"

namespace lw::app {

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

Result<void> Expectations::check(bool others) const {
  if (junit_.empty() || !expectations_.empty() || others) return {};
  return fail("--junit goes with --expect, or a profile with [expect]: it has their results");
}

void Expectations::judge(std::string& line, const std::string& suite, const JsonOutput* output) {
  if (expectations_.empty()) return;
  report::Json report = report::Json::parse(line), list = report::Json::array();
  for (const Expectation& expectation : expectations_)
    for (report::Judgement& judgement : report::judge(expectation, report, output)) {
      list.push_back(report::json_of(judgement));
      cases_.push_back(report::test_case_of(judgement, suite));
      judged_.push_back({suite, std::move(judgement)});
    }
  for (report::Json& each : list) report["expectations"].push_back(std::move(each));
  line = report::json_line(report);
}

void Expectations::add_cases(std::span<const report::TestCase> cases) {
  cases_.insert(cases_.end(), cases.begin(), cases.end());
}

std::string Expectations::text() const {
  if (judged_.empty()) return {};
  const bool several = std::ranges::any_of(
      judged_, [&](const Judged& each) { return each.suite != judged_.front().suite; });
  report::Table table({{"expected"}, {"measured", report::Align::right}, {""}});
  for (const auto& [suite, each] : judged_)
    table.add_row({(several ? suite + ": " : "") + each.figure + " " + each.limit,
                   each.measured.is_null() ? "none" : each.measured.dump(),
                   each.holds ? "holds" : "DOES NOT HOLD"});
  return table.to_string();
}

ExitCode Expectations::finish(std::string_view program) const {
  if (!junit_.empty()) report_at_end(write_file(junit_, report::junit_xml(program, cases_)));
  ExitCode code = ExitCode::done;
  for (const auto& [suite, each] : judged_) {
    if (!each.holds) code = std::max(code, ExitCode::failed);
    if (!each.error.empty())
      code = std::max(code, print_error({"--expect: " + each.expected + ": " + each.error}));
  }
  return code;
}

}  // namespace lw::app
