// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/retransmission.h"

namespace lw::analysis {
namespace {

constexpr auto kKind = AnomalyKind::retransmission;

constexpr Finding kAnyForFetch = Finding::either(
    {{kKind, Cause::timeout}, {kKind, Cause::response_lost}, {kKind, Cause::sequence_nak}});

constexpr Finding kAnyForRequest = Finding::either(
    {{kKind, Cause::timeout}, {kKind, Cause::sequence_nak}, {kKind, Cause::receiver_not_ready}});

constexpr Finding kTimerOrNak =
    Finding::either({{kKind, Cause::timeout}, {kKind, Cause::sequence_nak}});

/// A sender in software, in a busy guest, may need as long to answer a NAK.
constexpr Duration kPause = std::chrono::milliseconds{16};

/// A retransmission that nothing asked for.
bool is_by_timer(const Fact& fact) noexcept {
  return fact.seen.cause == Cause::timeout || fact.seen.cause == Cause::ack_lost;
}

/// Time from one packet of a recovery to the next; a sender in software may need a millisecond.
Duration pace_of(const Fact& fact) noexcept {
  if (fact.seen.packets < 2) return {};
  const Duration span = fact.seen.duration - fact.waits.asked.value_or(fact.seen.duration);
  return span / static_cast<std::int64_t>(fact.seen.packets - 1);
}

/// Whether a recovery began later after its NAK than its sender needs, by more than `pause`: twice
/// the shortest time that it took, and two packets at its pace.
bool is_late_for_nak(const Fact& fact, const ConnectionFacts& connection, Duration pause) noexcept {
  return fact.seen.cause == Cause::sequence_nak && fact.waits.asked && connection.least_reaction &&
         *fact.waits.asked > 2 * *connection.least_reaction + 2 * pace_of(fact) + pause;
}

bool is_too_late_for_nak(const Fact& fact, const ConnectionFacts& connection) noexcept {
  return is_late_for_nak(fact, connection, kPause);
}

/// Whether a recovery began so late after its NAK that only a path of thousands of kilometres, or a
/// timer, explains it, and no round trip here is as long.
bool is_far_after_nak(const Fact& fact, const ConnectionFacts& connection) noexcept {
  return fact.seen.cause == Cause::sequence_nak && fact.waits.asked &&
         *fact.waits.asked > 2 * kPause &&
         (!connection.least_rtt || *fact.waits.asked > 2 * *connection.least_rtt);
}

/// Whether a recovery began far later after its NAK than the sender's host has gone back several
/// times, and as late as a timer may.
bool is_unlike_others(const Fact& fact, const ConnectionFacts& connection) noexcept {
  constexpr std::uint32_t kSeveral = 3;
  constexpr int kFar = 16;
  const QuickReactions& host = connection.host_reactions;
  return host.count >= kSeveral && host.least && fact.seen.cause == Cause::sequence_nak &&
         fact.waits.asked && *fact.waits.asked >= kShortestTimer &&
         *fact.waits.asked > kFar * *host.least;
}

bool is_after_pause_or_timer(const Fact& fact, const ConnectionFacts& connection) noexcept {
  if (connection.selective) return is_late_for_nak(fact, connection, kShortestTimer);
  return is_far_after_nak(fact, connection) || is_unlike_others(fact, connection);
}

bool is_unexplained(const Fact& fact, const ConnectionFacts& connection) {
  return !connection.answered || fact.seen.cause == Cause::none;
}

bool is_unexplained_fetch(const Fact& fact, const ConnectionFacts& connection) {
  return fact.fetches && is_unexplained(fact, connection);
}

/// Responses that came again as they were, to requests that were captured once.
bool is_equal_response(const Fact& fact, const ConnectionFacts&) {
  return fact.seen.role == wire::Role::response && fact.seen.cause == Cause::path_copy;
}

/// Responses to a request that came again, and was not captured.
bool is_for_any_request(const Fact& fact, const ConnectionFacts&) {
  return fact.seen.role == wire::Role::response && fact.seen.cause == Cause::none;
}

bool is_for_repeated_request(const Fact& fact, const ConnectionFacts&) {
  return fact.seen.cause == Cause::request_resent;
}

bool is_after_stop(const Fact& fact, const ConnectionFacts& connection) {
  return is_by_timer(fact) && connection.stopped && fact.seen.stamp > *connection.stopped;
}

/// Whether a timer may have run since the packet was sent last.
bool is_after_timer(const Fact& fact) noexcept {
  return is_by_timer(fact) && fact.waits.sent && *fact.waits.sent >= kShortestTimer;
}

bool is_sooner_than_any_answer(const Fact& fact, const ConnectionFacts& connection) {
  return is_after_timer(fact) && connection.least_rtt && *fact.waits.sent < *connection.least_rtt;
}

/// Whether a timer that is shorter than the round trip may have run as long as this one. A packet
/// that has not been answered here by then shows the round trip of its connection.
bool may_be_too_short(const Fact& fact, const ConnectionFacts& connection) {
  constexpr int kSpread = 4;  // of round trips
  return !connection.least_rtt || *fact.waits.sent < kSpread * *connection.least_rtt;
}

bool is_needless(const Fact& fact, const ConnectionFacts& connection) {
  return is_after_timer(fact) && may_be_too_short(fact, connection) && connection.all_answered &&
         connection.all_repeated && !fact.waits.answered;
}

bool is_needless_or_unheard(const Fact& fact, const ConnectionFacts& connection) {
  return is_after_timer(fact) && connection.all_answered && connection.all_repeated &&
         (fact.waits.answered || may_be_too_short(fact, connection));
}

/// The answer passed here, and the sender is so far that it cannot have heard it.
bool is_sooner_than_heard(const Fact& fact, const ConnectionFacts& connection) {
  return fact.seen.cause == Cause::ack_lost && fact.waits.answered && connection.round_trip &&
         *fact.waits.answered < *connection.round_trip;
}

/// The answer passed here; the sender may be so far that it cannot have heard it, and its timer so
/// short.
bool may_be_unheard(const Fact& fact, const ConnectionFacts& connection) {
  const auto& answered = fact.waits.answered;
  return fact.seen.cause == Cause::ack_lost && answered && fact.waits.sent &&
         *fact.waits.sent > connection.longest_quiet &&
         !(connection.round_trip && *answered >= *connection.round_trip);
}

/// The whole response passed here, and a timer may have run out before the requester got it.
bool is_answered_before_timer(const Fact& fact) noexcept {
  return fact.fetches && fact.seen.cause == Cause::response_lost && !fact.waits.asked &&
         fact.waits.answered && fact.waits.sent && *fact.waits.sent >= kShortestTimer;
}

/// Like may_be_unheard(), of a READ or atomic.
bool may_be_unheard_fetch(const Fact& fact, const ConnectionFacts& connection) {
  return is_answered_before_timer(fact) && *fact.waits.sent > connection.longest_quiet &&
         !(connection.round_trip && *fact.waits.answered >= *connection.round_trip);
}

/// A READ or atomic that comes again, though nothing is missing in its response here.
bool is_needless_fetch(const Fact& fact, const ConnectionFacts& connection) {
  return fact.seen.cause == Cause::response_lost && !fact.waits.asked && fact.waits.sent &&
         *fact.waits.sent >= kShortestTimer && connection.all_answered && connection.all_repeated;
}

/// A READ whose whole answer has passed, and that its sender's timer sends again.
bool is_answered_fetch(const Fact& fact) noexcept {
  return fact.fetches && fact.seen.cause == Cause::response_lost && !fact.waits.asked &&
         fact.waits.answered && *fact.waits.answered >= kShortestTimer;
}

bool is_of_other_mtu(const Fact& fact, const ConnectionFacts& connection) {
  return is_answered_fetch(fact) && connection.reads_refused && connection.mtu_differs;
}

bool is_refused_fetch(const Fact& fact, const ConnectionFacts& connection) {
  return is_answered_fetch(fact) && connection.reads_refused;
}

bool is_for_late_response(const Fact& fact, const ConnectionFacts&) {
  return fact.seen.cause == Cause::response_lost && fact.late;
}

struct Row {
  bool (*holds)(const Fact& fact, const ConnectionFacts& connection);
  Finding finding;
};

constexpr Row kRows[] = {
    {is_for_repeated_request, Finding::certain(Cause::request_resent)},
    // Their requests were captured, each once, and they are equal to those that came before.
    {is_equal_response, Finding::either({{kKind, Cause::request_resent},
                                         {kKind, Cause::request_copied},
                                         {AnomalyKind::duplicate, Cause::path_copy}})},
    {is_for_any_request,
     Finding::either({{kKind, Cause::request_resent}, {kKind, Cause::request_copied}})},
    // The sender heard nothing since, and its retries ran out: its peer does not answer, or what
    // either sends is lost.
    {is_after_stop, Finding::either({{kKind, Cause::peer_stopped}, {kKind, Cause::timeout}})},
    // Answers say why a sender repeats: none was captured, or their AETHs were cut off.
    {is_unexplained_fetch, kAnyForFetch},
    {is_unexplained, kAnyForRequest},
    // The response was only late.
    {is_for_late_response, Finding::certain(Cause::reordered)},
    // A sender answers a NAK at once: the NAK was lost, or what it asked for was lost again.
    {is_too_late_for_nak, Finding::certain(Cause::timeout)},
    // Its timer may be as short, or it may have been busy. One that repeats single packets is
    // rarely that late: it does so in hardware. Another one answers after a round trip at most.
    {is_after_pause_or_timer, kTimerOrNak},
    // No answer can have come by then.
    {is_sooner_than_any_answer, Finding::certain(Cause::timer_too_short)},
    // The receiver got packets and their repetitions, and answered both after the repetition. Where
    // few are repeated, answers that nobody asked for may make up for those that are lost.
    {is_needless, Finding::certain(Cause::timer_too_short)},
    // It answered both, and the first before the repetition passed here: the answer was lost behind
    // this point, or on its way when the timer ran out. So it was with most packets.
    {is_needless_or_unheard,
     Finding::either({{kKind, Cause::timer_too_short}, {kKind, Cause::ack_lost}})},
    {is_sooner_than_heard, Finding::certain(Cause::timer_too_short)},
    {may_be_unheard, Finding::either({{kKind, Cause::ack_lost}, {kKind, Cause::timer_too_short}})},
    // Its requester takes no answer of more than one packet.
    {is_of_other_mtu, Finding::certain(Cause::answer_wrong)},
    {is_refused_fetch,
     Finding::either({{kKind, Cause::answer_wrong}, {kKind, Cause::response_lost}})},
    {is_needless_fetch,
     Finding::either({{kKind, Cause::timer_too_short}, {kKind, Cause::response_lost}})},
    {may_be_unheard_fetch,
     Finding::either({{kKind, Cause::response_lost}, {kKind, Cause::timer_too_short}})},
};

}  // namespace

Finding classify_retransmission(const Fact& fact, const ConnectionFacts& connection,
                                const CaptureFacts& capture) {
  for (const Row& row : kRows)
    if (row.holds(fact, connection)) return row.finding;
  // The NAK may have come before the capture began, unless the capture has the packet's
  // transmission before, as the NAK comes later than that; or be one of the frames that it lacks.
  const bool before =
      fact.early && (connection.began_before || !fact.inside) && !is_after_timer(fact);
  const bool nak_unseen = before || capture.lacks_naks();
  if (fact.seen.cause == Cause::timeout && nak_unseen)
    return fact.fetches ? kAnyForFetch : kAnyForRequest;
  return Finding::certain(fact.seen.cause);
}

}  // namespace lw::analysis
