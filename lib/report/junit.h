// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/verdict.h"

namespace lw::report {

/// The verdict on a report, and the report's name.
struct NamedVerdict {
  std::string name;
  Verdict verdict;
};

/// Returns a JUnit XML file, as CI systems read it, for one run of `program`: a test case for each
/// statement. Its suite is what the statement is of, or the report. A red statement is a failure,
/// or, if its answer is unknown, an error; an unknown one that nobody asked is skipped.
std::string junit_xml(std::string_view program, std::span<const NamedVerdict> reports);

}  // namespace lw::report
