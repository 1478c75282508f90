// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "analysis/findings/facts.h"
#include "analysis/findings/finding.h"

namespace lw::analysis {

/// Why a sender sent packets again. A table, whose rows say why they hold; the first row that holds
/// is the finding.
Finding classify_retransmission(const Fact& fact, const ConnectionFacts& connection,
                                const CaptureFacts& capture);

}  // namespace lw::analysis
