// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/late.h"

namespace lw::analysis {

Finding classify_late(const Fact& fact, const ConnectionFacts& connection) {
  // It may have been sent before the capture began, and be sent again.
  const bool sent_before = fact.early && connection.joined;
  if (!sent_before && !is_order_unknown(connection)) return Finding::certain(fact.seen.cause);
  return Finding::either(
      {{AnomalyKind::retransmission, Cause::none}, {AnomalyKind::out_of_order, Cause::none}});
}

}  // namespace lw::analysis
