// SPDX-License-Identifier: BSD-3-Clause
#include "report/junit.h"

#include <algorithm>
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

std::string properties_xml(const TestCase& test) {
  if (test.expected.empty()) return {};
  return fmt::format(
      R"(<properties><property name="measured" value="{}"/><property name="expected" value="{}"/></properties>)",
      xml_text(test.measured), xml_text(test.expected));
}

std::string result_xml(const TestCase& test) {
  if (!test.error.empty())
    return fmt::format(R"(<error type="expectation" message="{}"/>)", xml_text(test.error));
  const std::string said =
      xml_text(test.sentence.empty() ? "measured: " + test.measured : test.sentence);
  if (!test.passed) return fmt::format(R"(<failure type="expectation" message="{}"/>)", said);
  return fmt::format("<system-out>{}</system-out>", said);
}

std::string case_xml(const TestCase& test) {
  return fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\">{}{}</testcase>\n",
                     xml_text(test.suite), xml_text(test.name), properties_xml(test),
                     result_xml(test));
}

/// Returns `tests="3" failures="1" errors="0"`.
std::string counts_xml(std::span<const TestCase> cases) {
  const auto errors = std::ranges::count_if(cases, [](const auto& t) { return !t.error.empty(); });
  const auto failures =
      std::ranges::count_if(cases, [](const auto& t) { return t.error.empty() && !t.passed; });
  return fmt::format(R"(tests="{}" failures="{}" errors="{}")", cases.size(), failures, errors);
}

std::string suite_xml(const std::string& suite, std::span<const TestCase> cases) {
  std::vector<TestCase> own;
  std::ranges::copy_if(cases, std::back_inserter(own),
                       [&](const TestCase& test) { return test.suite == suite; });
  std::string text = fmt::format("  <testsuite name=\"{}\" {} skipped=\"0\" time=\"0\">\n",
                                 xml_text(suite), counts_xml(own));
  for (const TestCase& test : own) text += case_xml(test);
  return text + "  </testsuite>\n";
}

}  // namespace

std::string junit_xml(std::string_view program, std::span<const TestCase> cases) {
  std::vector<std::string> suites;
  for (const TestCase& test : cases)
    if (std::ranges::find(suites, test.suite) == suites.end()) suites.push_back(test.suite);
  std::string text =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n",
                  xml_text(program), counts_xml(cases));
  for (const std::string& suite : suites) text += suite_xml(suite, cases);
  return text + "</testsuites>\n";
}

}  // namespace lw::report
