// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/duplicate.h"

namespace lw::analysis {

Finding classify_duplicate(const Fact& fact, const ConnectionFacts& connection,
                           const CaptureFacts& capture) {
  // What asks for a repetition is an answer. Without all answers, only the IP identification tells
  // a copy, which has that of its original.
  const bool asked_unseen = !connection.answered || capture.is_incomplete();
  if (fact.seen.role == wire::Role::request && asked_unseen && !connection.ip_numbers_vary)
    return Finding::either(
        {{AnomalyKind::duplicate, Cause::path_copy}, {AnomalyKind::retransmission, Cause::none}});
  return Finding::certain(fact.seen.cause);
}

}  // namespace lw::analysis
