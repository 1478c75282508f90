// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "analysis/findings/facts.h"
#include "analysis/findings/finding.h"

namespace lw::analysis {

/// Whether the path delayed a packet that comes behind later ones.
Finding classify_late(const Fact& fact, const ConnectionFacts& connection);

}  // namespace lw::analysis
