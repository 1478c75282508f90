// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lw::report {

/// A check and its result, for a JUnit file.
struct TestCase {
  std::string suite, name;
  std::string measured, expected;  // `expected` may be empty if the name includes it
  bool passed = false;
  std::string error = {};     // why the check could not be made; empty if it was made
  std::string sentence = {};  // the result in words; empty: what was measured
};

/// Returns a JUnit XML file, as CI systems read it, for one run of `program`: a test suite per
/// suite of the cases, a test case per check.
std::string junit_xml(std::string_view program, std::span<const TestCase> cases);

}  // namespace lw::report
