// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/repetition_cause.h"

#include <algorithm>

#include "analysis/requests/request_checks.h"

namespace lw::analysis {
namespace {

/// Returns the NAK that a packet follows after the time that its sender needs; null: none. The
/// sender may answer several NAKs of one packet, and go back less far if an answer came meanwhile.
const Nak* nak_of_that_time(StreamState& state, const CapturedPacket& packet,
                            const Sent& sent) noexcept {
  constexpr int kTolerance = 64;  // divided by
  constexpr int kFar = 8;         // divided by: a round trip is shorter than the time needed
  constexpr Sequence kMost = 1024;
  constexpr Duration kPace = std::chrono::microseconds{1};
  const bool known = state.setup().least_reaction.has_value();
  if (!(known || state.setup().goes_back()) ||
      state.naks.asking_for(sent.psn, state.acked()) != nullptr)
    return nullptr;
  const Duration least =
      known ? *state.setup().least_reaction : state.setup().round_trip.value_or(Duration{});
  const Instant last = packet.stamp - least;
  const Instant first = last - std::max(least / (known ? kTolerance : kFar), kPace);
  if (least >= kShortestTimer)
    if (const Nak* const nak = state.naks.of_time(sent.psn, sent.psn, first, last)) return nak;
  if (!known || !state.setup().goes_back()) return nullptr;
  return state.naks.of_time(state.acked() - kMost, state.acked() - 1, first, last);
}

/// Returns the NAK that a packet seen before answers; null: none. `may_be_copy`: a SEND or WRITE
/// that may be a copy.
const Nak* answered_nak(StreamState& state, Sequence psn, bool may_be_copy) noexcept {
  const Nak* const nak = state.naks.asking_for(psn, state.acked());
  if (nak == nullptr || (nak->outdated && state.silence() >= kShortestTimer)) return nullptr;
  // A NAK acknowledges what is before its PSN: a sender does not go back further.
  return may_be_copy && psn < std::min(nak->psn, state.acked()) ? nullptr : nak;
}

/// Returns the NAK whose repetition a packet answers that came again for the NAK already: a sender
/// that repeats single packets answers each. Null: none.
const Nak* repeated_nak(StreamState& state, const CapturedPacket& packet, Sequence psn) noexcept {
  if (state.setup().scheme != RecoveryScheme::selective || state.silence() >= kShortestTimer)
    return nullptr;
  const Nak* const nak = state.naks.repeated_of(psn);
  const bool answers =
      nak != nullptr && stamp_difference(packet.stamp, nak->newest) >= state.setup().soonest();
  return answers && state.is_answer(packet, nak->newest) ? nak : nullptr;
}

/// Whether a timer may have run before the newest packet. It is longer than the sender needs to
/// answer.
bool may_be_timer(const StreamState& state) noexcept {
  const Duration reaction = state.setup().least_reaction.value_or(Duration{});
  return state.silence() >= std::max(kShortestTimer, reaction + reaction / 2);
}

/// Whether a READ asks for another part of its response than the original, and than when it was
/// last seen: then it is no copy of either. Without its RETH, only its PSN tells.
bool asks_for_another_part(const StreamState& state, const CapturedPacket& packet, Sequence psn,
                           const Sent& known) noexcept {
  if (!is_read(known.opcode)) return false;
  if (!known.has_reth || !packet.has_reth) return psn != known.psn && psn != known.asked_from();
  const Sequence end = psn + state.setup().span_of(packet);
  return (psn != known.psn || end != known.psn + known.span) &&
         (psn != known.asked_from() || end != known.asked_end());
}

bool is_copy(StreamState& state, bool selective, const CapturedPacket& packet,
             const Sent& known) noexcept {
  if (packet.ack_req != known.ack_req || packet.payload != known.payload) return false;
  if (packet.ip_id != known.ip_id && packet.ip_id != known.last_ip_id) return false;
  if (state.ip_numbers().vary()) return true;
  const Duration age = stamp_difference(packet.stamp, known.last_stamp);
  // A sender that waits for each response asks again after a round trip. A copy comes sooner.
  if (const auto turnaround = state.limits.turnaround(); is_read(known.opcode) && turnaround)
    return age < std::min(*turnaround, kShortestTimer);
  // Without a NAK, only a timer makes its sender repeat a SEND or WRITE.
  const bool asked = known.fetches || state.naks.asking_for(known.psn, state.acked()) != nullptr;
  if (selective && !asked) return age < kShortestTimer;
  if (selective) return age < state.setup().least_reaction.value_or(state.least_round_trip());
  return age < kShortestTimer || (state.setup().answered && known.psn > state.acked());
}

std::optional<Cause> cause_of(StreamState& state, bool selective, const CapturedPacket& packet,
                              Sequence psn, const Sent* known, std::uint64_t& related) {
  if (!state.reliable()) return std::nullopt;  // nobody repeats packets of UC and UD
  const bool silent = may_be_timer(state);
  const bool of_part = known != nullptr && asks_for_another_part(state, packet, psn, *known);
  const bool copied = known != nullptr && !of_part && is_copy(state, selective, packet, *known);
  const bool fetches = is_read(packet.info->opcode) || is_atomic(packet.info->opcode);
  const auto gap =
      fetches ? state.fetched.gap_in(psn, psn + state.setup().span_of(packet)) : std::nullopt;
  const Nak* const nak = answered_nak(state, psn, copied && !fetches);
  // A NAK acknowledges what is before its PSN. A sender that goes back further misses a response.
  const bool for_response = nak != nullptr && fetches && !nak->rnr && nak->psn > psn;
  if (for_response) state.naks.use(nak->frame);
  if (nak != nullptr && !for_response && !(gap && gap->stamp > nak->stamp)) {
    state.naks.use(nak->frame);
    related = nak->frame;
    if (nak->late) return Cause::reordered;
    return state.naks.was_refused(nak->psn) ? Cause::receiver_not_ready : Cause::sequence_nak;
  }
  if (const Nak* const repeated = fetches ? nullptr : repeated_nak(state, packet, psn)) {
    state.naks.use_repetition(repeated->frame);
    related = repeated->frame;
    return Cause::sequence_nak;
  }
  if (gap) {
    related = gap->frame;
    return silent && !state.is_answer(packet, gap->stamp) ? Cause::timeout : Cause::response_lost;
  }
  const bool of_rest = known != nullptr && known->psn + known->last_at != psn;
  // A NAK asks for a READ that was late, and the begin of its response has come since.
  if (const Nak* const late =
          of_rest && state.setup().goes_back() ? state.naks.of_psn(known->psn) : nullptr;
      late != nullptr) {
    state.naks.use(late->frame);
    related = late->frame;
    return Cause::sequence_nak;
  }
  if (copied && !(fetches && of_rest)) return std::nullopt;
  if (fetches && known != nullptr) {
    // After silence it was the timer. Otherwise the response to a later request has just shown the
    // loss. Where none has come, only a timer can have acted.
    const bool by_timer = silent && (!known->answered || state.setup().least_reaction);
    const bool none_came = state.setup().answered && psn >= state.acked() &&
                           stamp_difference(packet.stamp, known->last_stamp) >= kShortestTimer;
    if (by_timer || none_came) return Cause::timeout;
    if (const auto late = state.fetched.late_gap_in(psn, psn + known->span, known->last_stamp)) {
      related = *late;
      return Cause::response_lost;
    }
    // Nothing is missing here: the requests that follow tell a repetition from a late copy.
    const bool complete = known->answered && known->copies == 0 && !of_part;
    if (complete && !state.ip_numbers().vary() && psn + known->span < state.next())
      return std::nullopt;
    return Cause::response_lost;
  }
  if (state.acks_cut()) return Cause::none;  // there may have been a NAK
  // Without a NAK, and without the time of a timer, only a response can have been missing.
  if (!silent && state.counts.fetches_answered > 0) return Cause::response_lost;
  const bool taken =
      known == nullptr || !state.fetched.was_incomplete_before(known->psn, known->response_stamp);
  return psn < state.acked() && taken ? Cause::ack_lost : Cause::timeout;
}

}  // namespace

RepetitionCause cause_of_repetition(StreamState& state, bool selective,
                                    const std::optional<Refused>& refused,
                                    const CapturedPacket& packet, const Sent& sent,
                                    const Sent* known) {
  std::uint64_t related = known != nullptr ? known->frame : 0;
  auto cause = cause_of(state, selective, packet, sent.psn, known, related);
  if (refused && may_be_timer(state) && sent.psn >= refused->first && sent.psn < refused->end)
    return {Cause::answer_wrong, refused->frame, state.silence()};
  const bool for_response = sent.fetches && (!state.setup().goes_back() ||
                                             state.fetched.gap_in(sent.psn, sent.psn + sent.span));
  if (const Nak* const nak =
          cause && !for_response ? nak_of_that_time(state, packet, sent) : nullptr;
      nak != nullptr && related != nak->frame) {
    related = nak->frame;
    cause = Cause::sequence_nak;
  }
  // A NAK acknowledges what is before its PSN: a sender that follows it begins there, or behind it.
  const bool goes_back = state.setup().goes_back();
  const bool may_miss_nak =
      sent.fetches ? goes_back && sent.psn == state.acked() : sent.psn + goes_back > state.acked();
  const bool without_nak =
      cause == Cause::timeout || (cause == Cause::response_lost && may_miss_nak);
  if (const Nak* const nak = without_nak ? nak_in_place_of_timer(state, packet, sent) : nullptr) {
    state.naks.use(nak->frame);
    related = nak->frame;
    cause = Cause::sequence_nak;
  }
  return {cause, related, state.silence()};
}

const Nak* nak_in_place_of_timer(StreamState& state, const CapturedPacket& packet,
                                 const Sent& sent) noexcept {
  constexpr Sequence kMost = 1024;
  const Nak* nak = nullptr;
  if (sent.psn > state.acked()) {
    // A timer begins with the oldest packet.
    nak = state.naks.asking_for(state.acked(), state.acked());
  } else if (state.silence() < kShortestTimer) {
    // What the NAK asks for was late, and is acknowledged by now.
    nak = state.naks.of_frame(state.naks.frame_naming(state.acked() - kMost, state.acked() - 1));
    if (nak != nullptr && sent.fetches && !nak->late) return nullptr;
  }
  return nak != nullptr && state.is_answer(packet, nak->stamp) ? nak : nullptr;
}

}  // namespace lw::analysis
