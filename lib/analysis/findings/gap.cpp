// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/gap.h"

namespace lw::analysis {
namespace {

constexpr Finding kLostOrMissing =
    Finding::either({{AnomalyKind::psn_gap, Cause::lost_before_capture},
                     {AnomalyKind::psn_gap, Cause::missing_in_capture}});

constexpr Finding kLostOrLate = Finding::either(
    {{AnomalyKind::psn_gap, Cause::lost_before_capture}, {AnomalyKind::out_of_order, Cause::none}});

constexpr Finding kLostLateOrNotSent =
    Finding::either({{AnomalyKind::psn_gap, Cause::lost_before_capture},
                     {AnomalyKind::out_of_order, Cause::none},
                     {AnomalyKind::psn_gap, Cause::not_sent}});

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

/// A gap in a recovery whose answers were not captured.
std::optional<Finding> gap_in_recovery(const Fact& fact) {
  if (!fact.sent.value_or(!fact.begins)) return std::nullopt;
  if (!fact.sent) return kLostOrNotSent;
  return Finding::certain(Cause::lost_before_capture);
}

/// Whether a gap in responses showed sooner after their request than any answer comes: the
/// responder had answered it before the capture began.
bool is_for_request_before(const Fact& fact, const ConnectionFacts& connection) noexcept {
  return fact.early && connection.joined && fact.seen.role == wire::Role::response &&
         fact.waits.sent && connection.least_rtt && *fact.waits.sent < *connection.least_rtt;
}

/// Whether a gap in responses is before the first one of the capture, which began later than the
/// connection: they may have passed before.
bool is_before_first_answer(const Fact& fact, const ConnectionFacts& connection) noexcept {
  return fact.early && connection.began_before && fact.seen.role == wire::Role::response &&
         fact.seen.frame == connection.first_answer;
}

/// Whether packets of a gap that came again may have come late: most others did, and nothing tells
/// a late packet from one that was sent again.
bool may_be_late(const Fact& fact, const ConnectionFacts& connection) noexcept {
  const bool request = fact.seen.role == wire::Role::request;
  const Disorder& disorder = request ? connection.disorder : connection.response_disorder;
  return fact.seen.cause == Cause::lost_before_capture && disorder.prevails() &&
         !(request && connection.ip_numbers_ordered);
}

/// Whether the packets of a gap were sent behind the first one of the capture, not before it began:
/// a sender that goes back repeats all, and between two packets in a row it sends those in between.
bool was_sent_here(const Fact& fact, const ConnectionFacts& connection) noexcept {
  const bool again = fact.seen.cause == Cause::lost_before_capture;
  return fact.inside && (connection.goes_back || (fact.in_row && again));
}

}  // namespace

std::optional<Finding> classify_gap(const Fact& fact, const ConnectionFacts& connection,
                                    const CaptureFacts& capture) {
  if (fact.filled != 0 && (connection.goes_back || fact.overtaken || !is_order_unknown(connection)))
    return std::nullopt;
  if (fact.filled != 0) return kLostOrLate;
  if (fact.trimmed) return Finding::certain(Cause::trimmed);
  if (fact.damaged) return Finding::certain(Cause::lost_before_capture);
  if (fact.may_be_unasked) return capture.is_incomplete() ? kLostMissingOrNotSent : kLostOrNotSent;
  // A sender skips what was acknowledged meanwhile, and no answer was captured.
  if (fact.again && !connection.answered)
    return may_be_late(fact, connection) ? kLostLateOrNotSent : gap_in_recovery(fact);
  if (is_for_request_before(fact, connection)) return std::nullopt;
  if (is_before_first_answer(fact, connection)) return std::nullopt;
  if (fact.early && connection.began_before && !was_sent_here(fact, connection)) {
    // The receiver has got them, or what was sent behind them: they were sent before the capture
    // began.
    const bool passed = fact.passed || fact.seen.cause == Cause::missing_in_capture ||
                        (fact.seen.cause == Cause::none && fact.seen.role == wire::Role::response);
    if (passed && !capture.is_incomplete()) return std::nullopt;
    return capture.is_incomplete() ? kLostMissingOrNotSent : kLostOrNotSent;
  }
  // Without its requests, PSNs may be those of requests that are answered without data.
  if (fact.seen.cause == Cause::none && fact.seen.role == wire::Role::response && !fact.waits.sent)
    return kLostMissingOrNotSent;
  // Nothing acknowledges the PSNs, and nobody sent them again.
  if (fact.seen.cause == Cause::none) return kLostOrMissing;
  // Late packets may also look like a recovery that its sender never began.
  if (may_be_late(fact, connection)) return fact.again ? kLostLateOrNotSent : kLostOrLate;
  if (fact.taken && capture.is_incomplete()) return Finding::certain(Cause::missing_in_capture);
  // They were sent again. The capture may have missed them, and their receiver, too, or they were
  // sent again for another packet.
  const bool asked = fact.asked || fact.seen.role == wire::Role::response;
  if (fact.seen.cause == Cause::lost_before_capture &&
      capture.may_make(alike(fact, connection), asked))
    return kLostOrMissing;
  return Finding::certain(fact.seen.cause);
}

}  // namespace lw::analysis
