// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "dissect/compare/compare_figures.h"

namespace lw::dissect {

/// Formats the report as text.
std::string comparison_text(const CompareReport& report);
/// Formats the report as CSV: a header line, and a line for each direction that has frames.
std::string comparison_csv(const CompareReport& report);

}  // namespace lw::dissect
