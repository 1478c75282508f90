// SPDX-License-Identifier: BSD-3-Clause
#include "report/junit.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "report/json_line.h"

namespace lw::report {
namespace {

/// Returns the entity for a character that must be escaped in XML; empty for others.
std::string_view entity_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    default:
      return {};
  }
}

/// Returns text for XML 1.0. Characters that it doesn't permit, and bytes that aren't UTF-8, become
/// U+FFFD.
std::string xml_text(std::string_view text) {
  constexpr std::string_view kUnknown = "\xef\xbf\xbd";
  const std::string valid = Json::parse(json_string(text)).get<std::string>();
  std::string out;
  for (const char c : valid) {
    const std::string_view entity = entity_of(c);
    if (static_cast<unsigned char>(c) < 0x20) {
      out += kUnknown;
    } else if (!entity.empty()) {
      out += entity;
    } else {
      out += c;
    }
  }
  return out;
}

enum class CaseResult : std::uint8_t { passed, skipped, failed, error };

CaseResult result_of(const Judgement& judgement) {
  const bool is_red = judgement.colour() == Colour::red;
  if (judgement.holds == Holds::unknown) return is_red ? CaseResult::error : CaseResult::skipped;
  return is_red ? CaseResult::failed : CaseResult::passed;
}

/// A statement of a suite.
struct TestCase {
  std::string suite;
  const Judgement* judgement;
};

std::string measured_text(const Judgement& judgement) {
  const auto dump = [](const auto& value) { return Json(value).dump(); };
  return judgement.measured ? std::visit(dump, *judgement.measured) : "none";
}

std::string properties_xml(const Judgement& judgement) {
  return fmt::format(
      R"(<properties><property name="measured" value="{}"/><property name="asked" value="{}"/></properties>)",
      xml_text(measured_text(judgement)), xml_text(judgement.asked));
}

std::string result_xml(const Judgement& judgement) {
  const std::string sentence = xml_text(judgement.sentence());
  switch (result_of(judgement)) {
    case CaseResult::passed:
      return fmt::format("<system-out>{}</system-out>", sentence);
    case CaseResult::skipped:
      return fmt::format(R"(<skipped message="{}"/>)", sentence);
    case CaseResult::failed:
      return fmt::format(R"(<failure type="statement" message="{}"/>)", sentence);
    case CaseResult::error:
      return fmt::format(R"(<error type="statement" message="{}"/>)", sentence);
  }
  return {};
}

std::string case_xml(const TestCase& test) {
  const Judgement& judgement = *test.judgement;
  const std::string name =
      judgement.asked_by.empty() ? judgement.name : judgement.name + ": " + judgement.asked;
  return fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\">{}{}</testcase>\n",
                     xml_text(test.suite), xml_text(name), properties_xml(judgement),
                     result_xml(judgement));
}

/// Returns `tests="3" failures="1" errors="0" skipped="0"`.
std::string counts_xml(std::span<const TestCase> cases) {
  const auto count = [&](CaseResult result) {
    return std::ranges::count_if(
        cases, [&](const TestCase& test) { return result_of(*test.judgement) == result; });
  };
  return fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}")", cases.size(),
                     count(CaseResult::failed), count(CaseResult::error),
                     count(CaseResult::skipped));
}

std::string suite_xml(const std::string& suite, std::span<const TestCase> cases) {
  std::vector<TestCase> own;
  std::ranges::copy_if(cases, std::back_inserter(own),
                       [&](const TestCase& test) { return test.suite == suite; });
  std::string text =
      fmt::format("  <testsuite name=\"{}\" {} time=\"0\">\n", xml_text(suite), counts_xml(own));
  for (const TestCase& test : own) text += case_xml(test);
  return text + "  </testsuite>\n";
}

}  // namespace

std::string junit_xml(std::string_view program, std::span<const NamedVerdict> reports) {
  std::vector<TestCase> cases;
  std::vector<std::string> suites;
  for (const auto& [name, verdict] : reports)
    for (const Judgement& each : verdict.all())
      cases.push_back({each.of.empty() ? name : each.of, &each});
  for (const TestCase& test : cases)
    if (std::ranges::find(suites, test.suite) == suites.end()) suites.push_back(test.suite);
  std::string text =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n",
                  xml_text(program), counts_xml(cases));
  for (const std::string& suite : suites) text += suite_xml(suite, cases);
  return text + "</testsuites>\n";
}

}  // namespace lw::report
