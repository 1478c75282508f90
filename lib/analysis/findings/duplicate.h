// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "analysis/findings/facts.h"
#include "analysis/findings/finding.h"

namespace lw::analysis {

/// Whether the path copied a packet.
Finding classify_duplicate(const Fact& fact, const ConnectionFacts& connection,
                           const CaptureFacts& capture);

}  // namespace lw::analysis
