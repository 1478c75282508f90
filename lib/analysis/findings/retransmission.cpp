// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/classify.h"

namespace lw::analysis {

Finding classify_retransmission(const Fact& fact, const ConnectionFacts& connection,
                                const CaptureFacts& /*capture*/) {
  // The answers say why: none was captured, or their AETHs were cut off.
  if (!connection.answered || fact.seen.cause == Cause::none) return Finding::unknown();
  return Finding::certain(fact.seen.cause);
}

}  // namespace lw::analysis
