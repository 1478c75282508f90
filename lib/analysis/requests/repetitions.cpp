// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/repetitions.h"

#include <algorithm>

#include "analysis/requests/late_requests.h"

namespace lw::analysis {
namespace {

/// Whether nobody can have asked its sender for a packet again: its IP identification shows it, or
/// it was sent once, and no answer to it has reached its sender.
bool was_unasked(StreamState& state, const CapturedPacket& packet, Sequence psn,
                 const Sent* known) {
  if (state.ip_numbers().vary()) return true;
  if (known == nullptr || known->copies > 0 || state.silence() >= kShortestTimer ||
      state.naks.asking_for(psn, state.acked()) != nullptr)
    return false;
  const bool misses_none = state.counts.fetches_answered == 0 && state.counts.resent == 0;
  return !known->answered || misses_none ||
         (state.setup().round_trip &&
          stamp_difference(packet.stamp, known->response_stamp) < *state.setup().round_trip);
}

/// Processes a copy of a request. `known`: its entry in the log; null: none.
void take_copy(StreamState& state, const CapturedPacket& packet, Sequence psn, Sent* known) {
  const bool newest = known == nullptr || psn + known->span >= state.next();
  const bool unasked = was_unasked(state, packet, psn, known);
  if (known == nullptr || !known->fetches)
    return state.report.copy(packet, psn, known, newest, unasked);
  FetchResponses::note_copy(*known);
  // A requester that goes back for a response repeats what follows as well.
  const bool asked_alone = !state.setup().goes_back() || newest;
  const bool complete = known->answered && known->response_stamp <= packet.stamp;
  std::optional<Duration> answered;
  if (asked_alone && complete) answered = stamp_difference(packet.stamp, known->response_stamp);
  state.report.copy(packet, psn, known, newest, unasked, {.answered = answered});
}

/// Processes a packet that a recovery has skipped, and that comes late.
void fill_in(StreamState& state, Recoveries& recoveries, const Recovery& recovery,
             const CapturedPacket& packet, Sequence psn, Sent& known) {
  const Filled old = recoveries.add_late(&recovery, psn, known.span,
                                         {psn, known.span, known.last_frame, known.last_stamp},
                                         recovery.skips(psn));
  known.note_again(packet);
  state.report.late_in_recovery(packet, psn, old);
}

}  // namespace

void Repetitions::note(const CapturedPacket& packet, const Sent& sent, Sent* known) {
  if (recovery_skipping(packet, sent.psn, known, state_.silence()) != nullptr) {
    known->asked_again = true;
    if (doubt_) return doubt_->rest.push_back({packet, sent});
    doubt_ = Doubt{.packet = packet, .sent = sent, .why = {.silence = state_.silence()}};
    return;
  }
  const RepetitionCause why =
      cause_of_repetition(state_, recoveries_.selective(), wrong_.refused(), packet, sent, known);
  if (!why.cause) {
    const bool keeps = state_.setup().scheme == RecoveryScheme::selective;
    const Nak* const nak = keeps ? nullptr : nak_in_place_of_timer(state_, packet, sent);
    const bool newest = known == nullptr || sent.psn + sent.span >= state_.next();
    // What the NAK asked for was late, so the receiver has discarded the packet behind it.
    if (newest && nak != nullptr && sent.psn == state_.acked() && !state_.ip_numbers().vary()) {
      state_.naks.use(nak->frame);
      return recoveries_.begin(packet, sent, known,
                               {Cause::sequence_nak, nak->frame, state_.silence()});
    }
    if (state_.ip_numbers().vary() || newest) return take_copy(state_, packet, sent.psn, known);
    doubt_ = Doubt{
        .packet = packet, .sent = sent, .nak_frame = nak != nullptr ? nak->frame : 0, .why = why};
    known->asked_again |= sent.fetches;
    return;
  }
  if (may_come_alone(sent, known, *why.cause)) {
    ++known->copies;
    doubt_ = Doubt{.packet = packet, .sent = sent, .why = why};
    return;
  }
  recoveries_.begin(packet, sent, known, why);
}

void Repetitions::judge(Sequence next, const CapturedPacket* packet) {
  if (!doubt_ || goes_on_skipped(next, packet)) return;
  const Doubt doubt = std::move(*doubt_);
  doubt_.reset();
  Sent* const known = state_.log.find(doubt.sent.psn);
  if (doubt.why.cause) return judge_alone(doubt, next, packet, known);
  std::uint64_t original = known != nullptr ? known->frame : 0;
  if (known != nullptr && doubt.sent.fetches)
    original = state_.fetched.late_gap_in(known->psn, known->psn + known->span, known->last_stamp)
                   .value_or(original);
  const Sequence behind = doubt.end();
  const Nak* nak =
      doubt.sent.fetches ? nullptr : state_.naks.asking_for(state_.acked(), state_.acked());
  if (nak == nullptr) nak = state_.naks.of_frame(doubt.nak_frame);
  const Recovery* const running = recoveries_.running();
  const bool recovery_goes_on = running != nullptr && running->next == behind;
  const Recovery* const skipping =
      recovery_skipping(doubt.packet, doubt.sent.psn, known, doubt.why.silence);
  // A sender that goes back sends the next packet sooner than it answers a NAK.
  const bool too_late =
      skipping != nullptr && state_.setup().least_reaction && packet != nullptr &&
      stamp_difference(packet->stamp, doubt.packet.stamp) > state_.setup().soonest();
  if (next != behind || next >= state_.next() || recovery_goes_on || too_late) {
    if (skipping != nullptr) return fill_in_all(*skipping, doubt);
    return take_copy(state_, doubt.packet, doubt.sent.psn, known);
  }
  if (go_on_before_jump(doubt)) return;
  const bool fetched = doubt.sent.fetches || state_.counts.fetches_answered > 0;
  const Cause by_timer = doubt.sent.psn < state_.acked() ? Cause::ack_lost : Cause::timeout;
  RepetitionCause why{fetched ? Cause::response_lost : by_timer, original, doubt.why.silence};
  if (nak != nullptr) {
    state_.naks.use(nak->frame);
    why.cause = Cause::sequence_nak;
    why.related = nak->frame;
  }
  begin(doubt, known, why);
}

/// Whether the next request goes on with the packets in doubt, and the newest packet of the
/// recovery has skipped them all: then the one behind them decides.
bool Repetitions::goes_on_skipped(Sequence next, const CapturedPacket* packet) {
  constexpr Sequence kNear = 8;  // a packet overtakes few others in a recovery
  if (packet == nullptr || doubt_->why.cause || next != doubt_->end()) return false;
  const Recoveries::Jump* const newest = recoveries_.jump_from(doubt_->sent.psn);
  return newest != nullptr && next < newest->sent.psn && newest->sent.psn - newest->from <= kNear &&
         recovery_skipping(*packet, next, state_.log.find(next), state_.silence()) != nullptr;
}

/// A recovery begins with the packets in doubt.
void Repetitions::begin(const Doubt& doubt, Sent* known, const RepetitionCause& why) {
  recoveries_.begin(doubt.packet, doubt.sent, known, why);
  add_rest(doubt);
}

void Repetitions::add_rest(const Doubt& doubt) {
  for (const Taken& one : doubt.rest)
    if (Sent* const known = state_.log.find(one.sent.psn))
      recoveries_.extend(one.packet, one.sent, *known);
}

/// The packets in doubt are late ones of a recovery.
void Repetitions::fill_in_all(const Recovery& recovery, const Doubt& doubt) {
  const auto fill = [&](const CapturedPacket& packet, Sequence psn) {
    if (Sent* const known = state_.log.find(psn))
      fill_in(state_, recoveries_, recovery, packet, psn, *known);
  };
  fill(doubt.packet, doubt.sent.psn);
  for (const Taken& one : doubt.rest) fill(one.packet, one.sent.psn);
}

/// Decides about a packet that begins a recovery if the packets after it are repeated as well.
void Repetitions::judge_alone(const Doubt& doubt, Sequence next, const CapturedPacket* packet,
                              Sent* known) {
  if (known != nullptr) --known->copies;
  const Recovery* past = known != nullptr ? recovery_past(*known) : nullptr;
  const Sent* const follower = state_.log.find(next);
  const bool next_is_late = past != nullptr && next != doubt.sent.psn + doubt.sent.span &&
                            follower != nullptr && past->is_past(*follower);
  const bool next_is_copy = packet != nullptr && follower != nullptr && follower->seen &&
                            state_.ip_numbers().vary() && packet->ip_id == follower->last_ip_id;
  const bool is_alone =
      next >= recoveries_.next() || next <= doubt.sent.psn || next_is_late || next_is_copy;
  if (!is_alone) past = nullptr;
  if (past != nullptr) {
    take_back_answer(doubt);
    return fill_in(state_, recoveries_, *past, doubt.packet, doubt.sent.psn, *known);
  }
  if (is_alone && take_overtaken_original(doubt.packet, doubt.sent.psn, known)) return;
  if (known != nullptr && is_alone && *doubt.why.cause != Cause::sequence_nak)
    return take_copy(state_, doubt.packet, doubt.sent.psn, known);
  if (!is_alone && go_on_before_jump(doubt)) return;
  recoveries_.begin(doubt.packet, doubt.sent, known, doubt.why);
}

/// The packet in doubt was late: it answers no NAK.
void Repetitions::take_back_answer(const Doubt& doubt) {
  if (state_.naks.reopen(doubt.why.related))
    state_.revisions.add(Assumption::answers_nak, doubt.sent.psn, doubt.packet.number);
}

/// Processes a packet that comes behind the one that was sent again in its place, if it is such a
/// packet: its IP identification shows that it is no copy. Returns whether it is one.
bool Repetitions::take_overtaken_original(const CapturedPacket& packet, Sequence psn, Sent* known) {
  if (known == nullptr || !state_.ip_numbers().vary()) return false;
  const Recovery* const recovery = recoveries_.find_filled(psn);
  if (recovery == nullptr) return false;
  if (known->fetches) FetchResponses::note_copy(*known);
  take_overtaken(state_, recoveries_, *recovery, packet, psn, *known);
  return true;
}

/// The recovery goes on with `doubt` if its newest packet skipped this one and those behind it: the
/// newest packet was late or a copy. Returns whether it is so.
bool Repetitions::go_on_before_jump(const Doubt& doubt) {
  const Sequence psn = doubt.sent.psn;
  Sent* const known = state_.log.find(psn);
  const Recoveries::Jump* const newest = recoveries_.jump_from(psn);
  if (known == nullptr || newest == nullptr) return false;
  // A sender that goes back further takes the time of an answer.
  const Recovery& recovery = *recoveries_.running();
  const Duration soonest =
      std::max(state_.setup().soonest(), stamp_difference(newest->packet.stamp, recovery.first));
  if (stamp_difference(doubt.packet.stamp, newest->packet.stamp) >= soonest) return false;
  take_back_answer(doubt);
  const Recoveries::Jump jump = recoveries_.take_back_jump();
  Sent* const jumped = state_.log.find(jump.sent.psn);
  const Recovery* const past = jumped != nullptr ? recovery_past(*jumped) : nullptr;
  if (past != nullptr)
    fill_in(state_, recoveries_, *past, jump.packet, jump.sent.psn, *jumped);
  else if (!take_overtaken_original(jump.packet, jump.sent.psn, jumped))
    take_copy(state_, jump.packet, jump.sent.psn, jumped);
  if (!recoveries_.extend(doubt.packet, doubt.sent, *known)) return false;
  add_rest(doubt);
  return true;
}

/// Whether a SEND or WRITE that comes again may be one that was late in a recovery: a sender that
/// goes back sends no packet alone. After the time of a timer it is the first of a recovery.
bool Repetitions::may_come_alone(const Sent& sent, const Sent* known, Cause cause) {
  if (!state_.setup().goes_back() || known == nullptr || state_.silence() >= kShortestTimer)
    return false;
  const bool may_be_late =
      state_.ip_numbers().vary() &&
      (recoveries_.find_filled(sent.psn) != nullptr || recovery_past(*known) != nullptr);
  if (sent.fetches && !may_be_late) return false;
  const bool was_asked_for = cause == Cause::sequence_nak || cause == Cause::receiver_not_ready;
  return sent.psn + sent.span < recoveries_.next() &&
         (!was_asked_for || recovery_past(*known) != nullptr);
}

/// Returns the recovery, or the last one, that went past a packet; null: none.
const Recovery* Repetitions::recovery_past(const Sent& known) {
  return recoveries_.find([&known](const Recovery& one) { return one.is_past(known); });
}

/// Returns the recovery, or one that has just ended, that has skipped a packet; null: none, or a
/// NAK asks for the packet again. `silence`: before it.
const Recovery* Repetitions::recovery_skipping(const CapturedPacket& packet, Sequence psn,
                                               const Sent* known, Duration silence) {
  if (known == nullptr) return nullptr;
  const Nak* const nak = state_.naks.asking_for(psn, state_.acked());
  const bool asked =
      nak != nullptr && stamp_difference(packet.stamp, nak->stamp) >= state_.setup().soonest();
  if (asked) return nullptr;
  const Recovery* const running = recoveries_.running();
  // After silence, another recovery begins.
  const bool may_end = state_.setup().goes_back() && silence < kShortestTimer;
  return recoveries_.find(
      [&](const Recovery& one) { return (&one == running || may_end) && one.skips(psn, *known); });
}

}  // namespace lw::analysis
