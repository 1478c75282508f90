// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "analysis/findings/facts.h"
#include "analysis/findings/finding.h"

namespace lw::analysis {

/// Why the capture skips PSNs: the path lost them, the capture missed them, or nobody sent them.
/// Nothing: they came late, which is another fact.
std::optional<Finding> classify_gap(const Fact& fact, const ConnectionFacts& connection,
                                    const CaptureFacts& capture);

}  // namespace lw::analysis
