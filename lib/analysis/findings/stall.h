// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "analysis/findings/facts.h"
#include "analysis/findings/finding.h"

namespace lw::analysis {

/// Whether a silence before an answer is longer than usual; nothing: it is not.
std::optional<Finding> classify_stall(const Fact& fact, const ConnectionFacts& connection);

}  // namespace lw::analysis
