// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/duplicate.h"

namespace lw::analysis {

namespace {

constexpr Hypothesis kCopy = {AnomalyKind::duplicate, Cause::path_copy};
constexpr Hypothesis kCameLate = {AnomalyKind::out_of_order, Cause::none};

/// Whether a packet that came before may be one that was sent before the one in its place: others
/// came late, and nothing tells it from a copy. Identifications are those of requests.
bool others_came_late(const Fact& fact, const ConnectionFacts& connection) noexcept {
  const bool request = fact.seen.role == wire::Role::request;
  const Disorder& disorder = request ? connection.disorder : connection.response_disorder;
  return disorder.late >= Disorder::kEnough && !(request && connection.ip_numbers_vary);
}

/// Whether a READ or atomic whose whole response has passed may be asked for again: the response
/// was lost behind this point, and the requester is not so far that it cannot know that yet.
bool may_miss_response(const Fact& fact, const ConnectionFacts& connection) noexcept {
  return fact.waits.answered && !connection.ip_numbers_vary &&
         !(connection.round_trip && *fact.waits.answered < *connection.round_trip);
}

/// A packet that comes again alone, where the path is not seen to copy packets: it was late, if
/// others were; or was sent again, if others were for lost responses; or neither shows.
Finding without_copies(const Fact& fact, const ConnectionFacts& connection,
                       const CaptureFacts& capture) noexcept {
  constexpr std::uint64_t kSome = 3;
  constexpr Hypothesis kForResponse = {AnomalyKind::retransmission, Cause::response_lost};
  if (!fact.fetches && capture.late >= kSome)
    return {.cause = Cause::none, .kind = AnomalyKind::out_of_order};
  if (capture.response_recoveries >= kSome)
    return {.cause = kForResponse.cause, .kind = kForResponse.kind};
  // A sender that goes back sends no packet alone.
  if (connection.goes_back && !fact.newest) return Finding::either({kCopy, kCameLate});
  return Finding::either({kCopy, kForResponse});
}

}  // namespace

Finding classify_duplicate(const Fact& fact, const ConnectionFacts& connection,
                           const CaptureFacts& capture) {
  constexpr Hypothesis kAgain = {AnomalyKind::retransmission, Cause::none};
  const bool request = fact.seen.role == wire::Role::request;
  // What asks for a repetition is an answer. Without all answers, only the IP identification tells
  // a copy, which has that of its original.
  const bool asked_unseen = !connection.answered || capture.may_lack_naks_for_copies();
  // A sender that goes back repeats only its last packet alone.
  const bool may_be_sent = fact.newest || !connection.goes_back;
  const bool undecided = request ? asked_unseen && may_be_sent && !connection.ip_numbers_vary
                                 : fact.seen.cause == Cause::none;
  // A packet from far before comes late, where many do.
  if (!undecided && others_came_late(fact, connection)) return Finding::either({kCopy, kCameLate});
  // Networks copy few packets; senders repeat many.
  if (undecided)
    return request ? Finding::either({kAgain, kCopy}) : Finding::either({kCopy, kAgain});
  if (request && !fact.unasked && !connection.ip_numbers_vary && !capture.shows_copies())
    return without_copies(fact, connection, capture);
  // Nothing shows a loss.
  if (may_miss_response(fact, connection))
    return Finding::either({kCopy, {AnomalyKind::retransmission, Cause::response_lost}});
  return Finding::certain(fact.seen.cause);
}

}  // namespace lw::analysis
