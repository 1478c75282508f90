// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/late.h"

namespace lw::analysis {

namespace {

/// A response that had passed, and that several repeated requests asked for: it fills a gap in the
/// answer to one, or belongs to that to another.
constexpr Finding kLateOrOfOther =
    Finding::either({{AnomalyKind::out_of_order, Cause::none},
                     {AnomalyKind::retransmission, Cause::request_resent}});

}  // namespace

Finding classify_late(const Fact& fact, const ConnectionFacts& connection) {
  // It may have been sent before the capture began, and be sent again; a sender that goes back does
  // not send it alone, and numbers that count up show that others overtook it. A response that was
  // sent before is only skipped by the first one of the capture.
  const bool is_shown = connection.goes_back && connection.ip_numbers_ordered;
  const bool sent_before = fact.seen.role == wire::Role::request
                               ? fact.early && connection.joined && !is_shown
                               : fact.seen.related_frame == connection.first_answer;
  // A sender that goes back sends no packet alone. One that repeats what is behind the packet goes
  // back, too: its receiver has discarded that.
  const bool is_known = connection.goes_back || fact.overtaken || !is_order_unknown(connection);
  if (fact.seen.role == wire::Role::response && fact.again) return kLateOrOfOther;
  if (!sent_before && is_known) return Finding::certain(fact.seen.cause);
  return Finding::either(
      {{AnomalyKind::retransmission, Cause::none}, {AnomalyKind::out_of_order, Cause::none}});
}

}  // namespace lw::analysis
