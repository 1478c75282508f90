// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "dissect/explain/explanation.h"

namespace lw::dissect {

/// Adds statements about the capture, not about its traffic: what it lacks, what was not followed,
/// and what the analysis had to assume.
void add_capture_statements(const Evidence& evidence, std::vector<Statement>& all);

}  // namespace lw::dissect
