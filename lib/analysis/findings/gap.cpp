// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/gap.h"

namespace lw::analysis {
namespace {

constexpr Finding kLostOrMissing =
    Finding::either({{AnomalyKind::psn_gap, Cause::lost_before_capture},
                     {AnomalyKind::psn_gap, Cause::missing_in_capture}});

constexpr Finding kLostOrLate = Finding::either(
    {{AnomalyKind::psn_gap, Cause::lost_before_capture}, {AnomalyKind::out_of_order, Cause::none}});

constexpr Finding kLostMissingOrNotSent =
    Finding::either({{AnomalyKind::psn_gap, Cause::lost_before_capture},
                     {AnomalyKind::psn_gap, Cause::missing_in_capture},
                     {AnomalyKind::psn_gap, Cause::not_sent}});

constexpr Finding kLostOrNotSent = Finding::either(
    {{AnomalyKind::psn_gap, Cause::lost_before_capture}, {AnomalyKind::psn_gap, Cause::not_sent}});

/// What a gap that was sent again resembles. Nobody asks for responses beyond the first one.
Resemblance alike(const Fact& fact, const ConnectionFacts& connection) noexcept {
  if (fact.seen.role == wire::Role::request)
    return fact.asked ? connection.asked : connection.resent;
  return fact.asked ? connection.responses : Resemblance{.gaps = 0, .packets = 1};
}

}  // namespace

std::optional<Finding> classify_gap(const Fact& fact, const ConnectionFacts& connection,
                                    const CaptureFacts& capture) {
  if (fact.filled && !is_order_unknown(connection)) return std::nullopt;
  if (fact.filled) return kLostOrLate;
  // A sender skips what was acknowledged meanwhile, and no answer was captured.
  if (fact.again && !connection.answered) return kLostOrNotSent;
  // Its packets may have been sent before the capture began. A sender that goes back repeats all.
  if (fact.early && connection.began_before && !(fact.inside && connection.goes_back))
    return capture.is_incomplete() ? kLostMissingOrNotSent : kLostOrNotSent;
  // Without its requests, PSNs may be those of requests that are answered without data.
  if (fact.seen.cause == Cause::none && fact.seen.role == wire::Role::response)
    return kLostMissingOrNotSent;
  // Nothing acknowledges the PSNs, and nobody sent them again.
  if (fact.seen.cause == Cause::none) return kLostOrMissing;
  // They were sent again. The capture may have missed them, and their receiver, too, or they were
  // sent again for another packet.
  const bool asked = fact.asked || fact.seen.role == wire::Role::response;
  if (fact.seen.cause == Cause::lost_before_capture &&
      capture.may_make(alike(fact, connection), asked))
    return kLostOrMissing;
  return Finding::certain(fact.seen.cause);
}

}  // namespace lw::analysis
