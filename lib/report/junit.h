// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lw::report {

/// A check with a result, for a JUnit file.
struct TestCase {
  std::string suite, name;
  std::string measured, expected;  // `expected` may be empty, where the name says it
  bool passed = false;
  std::string error = {};  // why the check could not be made; empty: it was
};

/// JUnit's XML, as CI systems read it, of one run of `program`: a test suite for each suite of the
/// cases, a test case a check.
std::string junit_xml(std::string_view program, std::span<const TestCase> cases);

}  // namespace lw::report
