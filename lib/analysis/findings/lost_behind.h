// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "analysis/findings/facts.h"
#include "analysis/findings/finding.h"

namespace lw::analysis {

/// What became of a packet that a NAK asks for and that has passed the capture point.
Finding classify_lost_behind(const Fact& fact, const ConnectionFacts& connection);

}  // namespace lw::analysis
