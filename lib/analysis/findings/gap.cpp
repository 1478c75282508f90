// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/gap.h"

namespace lw::analysis {
namespace {

constexpr Finding kLostOrMissing =
    Finding::either({{AnomalyKind::psn_gap, Cause::lost_before_capture},
                     {AnomalyKind::psn_gap, Cause::missing_in_capture}});

constexpr Finding kLostOrNotSent = Finding::either(
    {{AnomalyKind::psn_gap, Cause::lost_before_capture}, {AnomalyKind::psn_gap, Cause::not_sent}});

}  // namespace

Finding classify_gap(const Fact& fact, const ConnectionFacts& connection,
                     const CaptureFacts& capture) {
  // A sender skips what was acknowledged meanwhile, and no answer was captured.
  if (fact.again && !connection.answered) return kLostOrNotSent;
  // Nothing acknowledges the PSNs, and nobody sent them again.
  if (fact.seen.cause == Cause::none) return kLostOrMissing;
  // They were sent again: their sender missed an answer. The capture may have missed the packet,
  // and the path the answer.
  if (fact.seen.cause == Cause::lost_before_capture && capture.is_incomplete())
    return kLostOrMissing;
  return Finding::certain(fact.seen.cause);
}

}  // namespace lw::analysis
