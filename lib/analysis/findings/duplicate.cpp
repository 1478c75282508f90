// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/duplicate.h"

namespace lw::analysis {

Finding classify_duplicate(const Fact& fact, const ConnectionFacts& connection,
                           const CaptureFacts& capture) {
  // What asks for a repetition is an answer. Without all answers, only the IP identification tells
  // a copy, which has that of its original.
  const bool asked_unseen = !connection.answered || capture.is_incomplete();
  const bool request = fact.seen.role == wire::Role::request;
  const bool undecided =
      request ? asked_unseen && !connection.ip_numbers_vary : fact.seen.cause == Cause::none;
  if (!undecided) return Finding::certain(fact.seen.cause);
  constexpr Hypothesis kCopy = {AnomalyKind::duplicate, Cause::path_copy};
  constexpr Hypothesis kAgain = {AnomalyKind::retransmission, Cause::none};
  if (!request) return Finding::either({kCopy, kAgain});
  // Networks copy few packets; senders repeat many.
  return Finding::either({kAgain, kCopy});
}

}  // namespace lw::analysis
