// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/recoveries.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>
#include <vector>

namespace lw::analysis {
namespace {

/// When the loss of a recovery first showed: the NAK, the gap in a READ's response, or the last
/// progress before silence.
Instant first_sign(StreamState& state, const CapturedPacket& packet, const Sent& sent,
                   const RepetitionCause& why) {
  if (const Nak* const nak = state.naks.of_frame(why.related)) return nak->stamp;
  const auto gap = state.fetched.gap_in(sent.psn, sent.psn + sent.span);
  if (gap && gap->frame == why.related) return std::min(gap->stamp, packet.stamp);
  const bool silent = why.cause == Cause::timeout || why.cause == Cause::ack_lost ||
                      why.cause == Cause::answer_wrong || why.silence >= kShortestTimer;
  if (!silent) return packet.stamp;
  // The sender's timer begins anew with each transmission.
  const Sent* const known = state.log.find(sent.psn);
  const Instant sent_last =
      known != nullptr && known->copies > 0 ? known->last_stamp : Instant::min();
  return std::min(std::max(state.last_progress(), sent_last), packet.stamp);
}

/// Times before a recovery that begins at `begin` with a packet. `known`: its entry in the log;
/// null: none. `related`: the frame of the NAK or gap that asked for it.
Waits waits_before(StreamState& state, Instant begin, const Sent* known, std::uint64_t related) {
  Waits waits;
  if (const Nak* const nak = state.naks.of_frame(related))
    waits.asked = stamp_difference(begin, nak->stamp);
  if (known == nullptr || !known->seen) return waits;
  if (const auto gap = state.fetched.gap_in(known->psn, known->psn + known->span))
    waits.asked = stamp_difference(begin, gap->stamp);
  waits.sent = stamp_difference(begin, known->last_stamp);
  if (known->answered && known->response_stamp <= begin)
    waits.answered = stamp_difference(begin, known->response_stamp);
  return waits;
}

/// A recovery that repeats the packet that a NAK names, after the time that the sender needs to
/// answer, answers the NAK and its repetitions.
void note_nak_answered(StreamState& state, const CapturedPacket& packet, Sequence psn) noexcept {
  if (!state.setup().round_trip) return;  // a late packet may seem to be a quick answer
  const Nak* const nak = state.naks.of_psn(psn);
  if (nak != nullptr &&
      stamp_difference(packet.stamp, nak->newest) >= state.setup().time_to_answer())
    state.naks.use(nak->frame);
}

}  // namespace

void Recoveries::begin(const CapturedPacket& packet, const Sent& sent, Sent* known,
                       const RepetitionCause& why) {
  ++state_.counts.resent;
  if (known != nullptr)
    retry_waits_.add(sent.psn, stamp_difference(packet.stamp, known->last_stamp));
  start({.cause = *why.cause,
         .start = sent.psn,
         .next = sent.psn,
         .fetches = sent.fetches,
         .first_frame = packet.number,
         .related_frame = why.related,
         .first_ip_id = packet.ip_id,
         .first = packet.stamp,
         .since = first_sign(state_, packet, sent, why),
         .silence = why.silence,
         .waits = waits_before(state_, packet.stamp, state_.log.find(sent.psn), why.related)},
        &sent, state_.ip_numbers().skipped_before(packet.ip_id));
  go_on(packet, known, sent);
}

void Recoveries::begin(Fill fill) {
  const Cause without_nak = state_.acks_cut() ? Cause::none : Cause::timeout;
  const Cause cause = fill.nak_frame != 0 ? Cause::sequence_nak : without_nak;
  if (!state_.setup().goes_back()) fill.skipped.clear();
  const std::uint64_t numbers_skipped = fill.numbers_skipped;
  Recovery recovery = std::move(fill).as_recovery(cause);
  recovery.waits = waits_before(state_, recovery.first, nullptr, recovery.related_frame);
  const Sent* const first = state_.log.find(recovery.start);
  if (first != nullptr) {
    recovery.fetches = first->fetches;
    recovery.first_ip_id = first->ip_id;
  }
  start(std::move(recovery), first, numbers_skipped);
  state_.counts.resent += recovery_->packets;
  state_.naks.use(recovery_->related_frame);
}

/// Begins a recovery. `first`: its first packet; null: not known. `numbers_skipped`: IP
/// identifications between it and the packet before.
void Recoveries::start(Recovery recovery, const Sent* first, std::uint64_t numbers_skipped) {
  if (recovery_ && recovery.is_by_timer()) note_lost_end(recovery, numbers_skipped);
  end();
  start_ = recovery.start;
  stamp_ = recovery.first;
  by_nak_ = recovery.cause == Cause::sequence_nak;
  recovery_ = std::move(recovery);
  if (first != nullptr) note_lost_beginning(*first, numbers_skipped);
}

/// Whether a recovery may begin with a packet. A sender that goes back begins with its oldest
/// packet that is not acknowledged, and it knows no ACK that was not seen here. A READ may be
/// repeated in part.
bool Recoveries::may_begin_with(const Sent& sent) const noexcept {
  return sent.psn <= state_.acked() || sent.fetches || selective_ || state_.acks_cut() ||
         !state_.setup().answered;
}

bool Recoveries::extend(const CapturedPacket& packet, const Sent& sent, Sent& known) {
  if (!recovery_ || (sent.psn == state_.acked() && recovery_->ends_with(state_.silence())) ||
      !recovery_->includes(packet, sent.psn, known, may_begin_with(sent)))
    return false;
  if (sent.psn != recovery_->next && is_late_packet(*recovery_)) {
    end();
    return false;
  }
  ++state_.counts.resent;
  const bool another = interrupts_another(known.psn);
  if (another) recovery_->next = interrupted_;
  // A READ may ask for the rest of its response: it skips none. Numbers tell nothing behind another
  // recovery.
  const bool lost = known.psn > recovery_->next &&
                    (another ? known.psn > state_.acked() : lost_before(packet, known.psn));
  if (lost) {
    jump_ = std::make_unique<Jump>(Jump{recovery_->next, packet, sent, known});
    recovery_->skip_to(known.psn, packet, was_sent(packet, known.psn));
  }
  go_on(packet, &known, sent);
  return true;
}

void Recoveries::take_filled(const CapturedPacket& packet, const Sent& gap, const Sent& filled,
                             const FillSigns& signs) {
  if (filled.psn > recovery_->next && may_skip(packet, filled.psn)) skip_seen(packet, filled.psn);
  add_filled(recovery_->filled, gap, filled, signs);
  ++state_.counts.resent;
  go_on(packet, nullptr, filled);
}

void Recoveries::go_on(const CapturedPacket& packet, Sent* known, const Sent& sent) {
  recovery_->in_row |= recovery_->packets > 0 && recovery_->next == sent.psn;
  recovery_->next = sent.psn + sent.span;
  ++recovery_->packets;
  recovery_->last_frame = packet.number;
  recovery_->last = packet.stamp;
  if (known == nullptr) return;
  note_nak_answered(state_, packet, sent.psn);
  state_.answers.note_sent_again(packet, sent.psn);
  note_repeated(packet, sent, *known);
  known->note_again(packet);
  known->note_asked(sent);
  known->last_ip_id = packet.ip_id;
  known->ack_req = packet.ack_req;
  if (known->fetches) state_.fetched.ask_again(*known, sent.psn);
  constexpr std::uint32_t kStorm = 3;
  if (known->repeats == kStorm && sent.psn == recovery_->start)
    state_.report.retry_storm(packet, sent.psn, *known);
}

/// Tells the replay of the requester that a packet is sent again. `known`: its entry in the log.
void Recoveries::note_repeated(const CapturedPacket& packet, const Sent& sent, Sent& known) {
  const Duration since = stamp_difference(packet.stamp, known.response_stamp);
  const auto& setup = state_.setup();
  const Cause cause = recovery_->cause;
  state_.taken.note_repeated(
      state_.log, known,
      {.psn = sent.psn,
       .end = std::min(sent.psn + sent.span, known.psn + known.span),
       .next = next_of(state_.log, state_.acked()),
       .newest = state_.next(),
       .begin = recovery_->first,
       .stamp = packet.stamp,
       .round_trip = setup.round_trip ? setup.round_trip : setup.least_reaction,
       .to_react = state_.time_to_react(),
       .may_be_early =
           recovery_->silence >= kShortestTimer || since <= Duration{state_.counts.rtt.maximum()},
       .by_nak = cause == Cause::sequence_nak || cause == Cause::receiver_not_ready,
       .by_timer = recovery_->is_by_timer(),
       .asked = state_.naks.stamp_of(sent.psn)});
}

/// A new packet with `psn` follows a NAK, and no recovery was seen: a sender that goes back has
/// answered the NAK before, as the numbers of its IP packets show, and all of the answer was lost.
void Recoveries::note_lost_recovery(const CapturedPacket& packet, Sequence psn) {
  const IpNumbers& numbers = state_.ip_numbers();
  if (!state_.setup().goes_back() || !numbers.ordered() || !numbers.dense() || state_.acks_cut())
    return;
  const Nak* const nak = state_.naks.asking_for(state_.acked(), state_.acked());
  if (nak == nullptr || nak->rnr || nak->psn >= state_.next() ||
      stamp_difference(packet.stamp, nak->stamp) < state_.setup().soonest())
    return;
  std::uint64_t packets = psn - state_.next();
  state_.log.for_each(nak->psn, state_.next(),
                      [&](const Sent& sent) { packets += sent.fetches ? 1 : sent.span; });
  // More are of answers: the numbers of a QP count them, too.
  if (numbers.skipped_before(packet.ip_id) != packets) return;
  state_.naks.use(nak->frame);
  state_.report.lost_again({.first = nak->psn,
                            .packets = state_.next() - nak->psn,
                            .frame = packet.number,
                            .stamp = packet.stamp,
                            .sent = true},
                           nak->frame);
}

/// Whether the recovery began so long after a NAK of its first packet that the sender answered it.
bool Recoveries::is_answer_to_nak() const noexcept {
  const auto& asked = recovery_->waits.asked;
  return recovery_->cause == Cause::sequence_nak && state_.setup().least_reaction && asked &&
         *asked >= state_.setup().time_to_answer();
}

void Recoveries::skip_to_end(const CapturedPacket& packet, Sequence psn) {
  if (!recovery_) return note_lost_recovery(packet, psn);
  if (recovery_->next >= state_.next() || state_.acks_cut()) return;
  const bool all = recovery_->repeats_all();
  if (!state_.setup().may_go_back() && !all) return;
  if (!state_.setup().goes_back() && !all && recovery_->packets < CaptureBegin::kManyInARow) return;
  const auto sent = was_sent(packet, psn);
  if (sent == false) return;
  // Without such numbers: an answer may have acknowledged them meanwhile, and what seems to be a
  // short recovery may be packets that came late.
  constexpr std::uint64_t kShort = 2, kFar = 2;
  if (!sent &&
      (recovery_->next < state_.acked() ||
       (recovery_->packets <= kShort && !is_answer_to_nak() &&
        (psn > state_.next() || state_.next() - recovery_->next >= kFar * recovery_->packets))))
    return;
  const Sent* const first = state_.log.find(recovery_->next);
  if (first == nullptr || !first->span_known) return;
  recovery_->skip_to(state_.next(), packet, sent);
  recovery_->next = state_.next();
}

/// Whether the recovery is a single packet that a NAK asked for, and the one before it goes on with
/// `psn`, perhaps behind lost packets.
bool Recoveries::interrupts_another(Sequence psn) const noexcept {
  return state_.setup().scheme == RecoveryScheme::selective && by_nak_ && recovery_->packets == 1 &&
         interrupted_ > recovery_->next && psn > interrupted_ &&
         psn - interrupted_ < interrupted_ - recovery_->next;
}

/// Whether the packets between the recovery's last one and `psn` were lost. The sender may also
/// have skipped them because an answer acknowledged them.
bool Recoveries::lost_before(const CapturedPacket& packet, Sequence psn) {
  if (psn == interrupted_) return false;  // one packet of the recovery before was late
  // A NAK that names it acknowledges those in between.
  if (state_.naks.of_psn(psn) != nullptr && psn <= state_.acked()) return false;
  const auto sent = was_sent(packet, psn);
  return sent.value_or(psn > state_.acked() || knows_no_ack(packet));
}

/// Whether the sender of `packet` has got no answer since the recovery began: its timer ran out for
/// want of one, and what passed here since has not reached it.
bool Recoveries::knows_no_ack(const CapturedPacket& packet) const noexcept {
  return recovery_->is_by_timer() && state_.setup().round_trip &&
         recovery_->silence > *state_.setup().round_trip &&
         stamp_difference(packet.stamp, recovery_->first) < *state_.setup().round_trip;
}

/// Whether the sender's IP numbers show that it sent the packets between the recovery's last one
/// and `psn` before `packet`; nothing: they tell neither. PSNs that were never seen are a packet
/// each, or belong to READs.
std::optional<bool> Recoveries::was_sent(const CapturedPacket& packet, Sequence psn) {
  const bool ordered = state_.ip_numbers().ordered();
  if (!ordered && !state_.setup().ip_numbers_count) return std::nullopt;
  const std::uint64_t numbers = state_.ip_numbers().skipped_before(packet.ip_id);
  if (numbers == 0) return false;
  const std::uint64_t beyond = psn > state_.next() ? psn - state_.next() : 0;
  std::uint64_t least = beyond, most = beyond;
  const bool reads = state_.counts.fetches_answered > 0;
  state_.log.for_each(recovery_->next, psn, [&](const Sent& sent) {
    least += sent.seen || reads ? 1 : sent.span;
    most += sent.seen ? 1 : sent.span;
  });
  if (numbers < least) return false;
  return ordered && numbers <= most ? std::optional(true) : std::nullopt;
}

/// Whether a sender that goes back has repeated packets between the recovery's last one and `psn`,
/// and they were lost once more.
bool Recoveries::may_skip(const CapturedPacket& packet, Sequence psn) {
  return state_.setup().may_go_back() && lost_before(packet, psn);
}

/// Notes the packets between the recovery's last one and `psn` that came before as lost once more.
/// What came never is a gap of its own.
void Recoveries::skip_seen(const CapturedPacket& packet, Sequence psn) {
  const auto sent = was_sent(packet, psn);
  const Sequence next = recovery_->next;
  state_.log.for_each(next, psn, [&](const Sent& one) {
    if (!one.seen) return;
    recovery_->next = std::max(next, one.psn);
    recovery_->skip_to(std::min(psn, one.psn + one.span), packet, sent);
  });
  recovery_->next = next;
}

/// If the recovery begins later than it may, its first packets were lost once more. In the first
/// round trip of a capture, the sender may know an ACK that came before. `numbers_skipped`: IP
/// identifications between its first packet and the one before.
void Recoveries::note_lost_beginning(const Sent& first, std::uint64_t numbers_skipped) {
  constexpr Sequence kMost = 64;
  // A NAK asks for the oldest packet; only a lost response is asked for by a later READ.
  const bool of_response = first.fetches && !by_nak_;
  const bool single = selective_ && !recovery_->follows_silence();
  const bool may_begin = first.psn <= state_.acked() || of_response || single ||
                         state_.acks_cut() || !state_.setup().answered;
  const bool may_know =
      (state_.begin.joined() || state_.counts.responses == 0) && !state_.begin.is_over();
  if (!state_.setup().answered && state_.reliable())
    return note_begin_behind_gap(first, numbers_skipped);
  if (may_begin || may_know) return;
  const Sequence packets = first.psn - state_.acked();
  if (state_.ip_numbers().ordered() ? numbers_skipped < packets : packets > kMost) return;
  recovery_->start = start_ = state_.acked();
  recovery_->first_ip_id -= static_cast<std::uint16_t>(packets);
  recovery_->skipped.push_back({state_.acked(), packets, recovery_->first_frame, recovery_->first});
}

/// The timer runs out once more: if the recovery that it began before has not come to the newest
/// packet, its last packets were lost. `next`: the recovery that begins now.
void Recoveries::note_lost_end(const Recovery& next, std::uint64_t numbers_skipped) {
  const Sequence first = recovery_->next;
  if (!state_.setup().answered || state_.acks_cut() || !recovery_->repeats_all() ||
      !next.follows_silence() || first < state_.acked() || first >= state_.next())
    return;
  const Sequence packets = state_.next() - first;
  if (state_.ip_numbers().ordered() && numbers_skipped < packets) return;
  recovery_->skipped.push_back({first, packets, next.first_frame, next.first});
  recovery_->next = state_.next();
}

/// Without answers: a recovery that begins behind a gap has lost its begin, if the sender goes
/// back, and if it repeats that later.
void Recoveries::note_begin_behind_gap(const Sent& first, std::uint64_t numbers_skipped) {
  constexpr Sequence kMost = 1024;
  const Sequence gap = first_gap();
  if (gap >= first.psn || first.psn - gap > kMost) return;
  recovery_->skipped.push_back({.first = gap,
                                .packets = first.psn - gap,
                                .frame = recovery_->first_frame,
                                .stamp = recovery_->first,
                                .begins = true});
  if (state_.ip_numbers().ordered()) {
    std::uint64_t packets = 0;
    state_.log.for_each(gap, first.psn, [&packets](const Sent&) { ++packets; });
    if (numbers_skipped < packets) recovery_->skipped.pop_back();
  }
}

/// The lowest PSN that has not come; state_.next(): all have.
Sequence Recoveries::first_gap() {
  if (const Sent* const first = state_.log.find(first_gap_);
      first == nullptr || first->psn > first_gap_)
    first_gap_ = state_.log.empty() ? state_.next() : std::max(first_gap_, state_.log.front_psn());
  const Sent* one = state_.log.find(first_gap_);
  while (one != nullptr && one->seen) {
    first_gap_ = one->psn + one->span;
    one = state_.log.find(first_gap_);
  }
  return one != nullptr ? first_gap_ : state_.next();
}

void Recoveries::end() {
  if (!recovery_) return;
  constexpr std::size_t kMostEnded = 8;  // a packet is rarely later than several recoveries
  if (ended_.size() == kMostEnded) report_oldest();
  Recovery recovery = std::move(*recovery_);
  recovery_.reset();
  if (const Recovery* const before = was_late_part(recovery))
    return add_late_part(*before, recovery);
  if (is_late_packet(recovery)) return report_late_packet(recovery);
  // A sender that doesn't go back up to its newest packet repeats single packets.
  const bool is_whole = recovery.next >= state_.next();
  // Its last packets may be lost, too. Where packets come late, these may be none of a recovery.
  const bool in_order = state_.counts.out_of_order == 0 && !state_.begin.joined();
  const bool in_a_row = !state_.setup().answered && recovery.packets >= CaptureBegin::kManyInARow;
  const bool all = state_.setup().answered && recovery.repeats_all();
  const bool goes_back = is_whole || in_a_row || all || (state_.setup().goes_back() && in_order);
  if (state_.setup().scheme == RecoveryScheme::unknown)
    selective_ = !goes_back && recovery.cause == Cause::sequence_nak;
  interrupted_ = is_whole ? 0 : recovery.next;
  ended_.push_back({std::move(recovery), goes_back, state_.next() + kLatePackets});
  // Missing packets may still come, if numbers show that they are late.
  if (!(state_.ip_numbers().ordered() || state_.setup().goes_back())) report_ended();
  while (!ended_.empty() && ended_.front().recovery.is_complete()) report_oldest();
}

/// Whether missing packets of a recovery are no longer waited for when `packet` comes.
bool Recoveries::is_final(const Ended& ended, const CapturedPacket& packet) const noexcept {
  constexpr Duration kLong = std::chrono::seconds{1};
  return state_.next() > ended.until || stamp_difference(packet.stamp, ended.recovery.last) > kLong;
}

void Recoveries::report_oldest() {
  Ended& ended = ended_.front();
  note_taken(ended.recovery);
  if (state_.setup().scheme == RecoveryScheme::selective) forget_answered(ended.recovery);
  state_.report.recovery(ended.recovery, state_.begin.psn(), ended.goes_back);
  ended_.erase(ended_.begin());
}

/// A sender that repeats single packets does not repeat a READ or atomic that is answered.
void Recoveries::forget_answered(Recovery& recovery) {
  std::erase_if(recovery.skipped, [this](const Filled& gap) {
    bool answered = !gap.sent.value_or(false);
    state_.log.for_each(gap.first, gap.first + gap.packets,
                        [&](const Sent& sent) { answered &= sent.fetches && sent.answered; });
    return answered;
  });
  for (Filled& gap : recovery.skipped) gap.may_be_unasked = !gap.sent.value_or(false);
}

/// Notes what the recovery skipped, was not sent again, and is acknowledged. A receiver has to get
/// it behind the packet that its NAK asked for, as it discards what comes before that.
void Recoveries::note_taken(Recovery& recovery) {
  if (!state_.setup().goes_back() || recovery.cause != Cause::sequence_nak) return;
  for (Filled& gap : recovery.skipped) {
    const Sequence end = gap.first + gap.packets;
    const Sent* const known = state_.log.find(gap.first);
    gap.taken = known != nullptr && state_.was_taken(end);
    state_.log.for_each(gap.first, end, [&](const Sent& sent) {
      gap.taken = gap.taken && sent.last_stamp < recovery.first;
    });
  }
}

// What later packets change: some packets of recoveries came late, or belong to none.

/// The recovery that others refer to.
Recovery& Recoveries::own(const Recovery& recovery) noexcept {
  if (recovery_ && &*recovery_ == &recovery) return *recovery_;
  return std::ranges::find(ended_, &recovery, [](const Ended& one) { return &one.recovery; })
      ->recovery;
}

Filled Recoveries::add_late(const Recovery* recovery, Sequence psn, std::uint32_t span,
                            const Filled& seen, bool skipped) {
  ++state_.counts.resent;
  if (recovery == nullptr) return seen;
  Recovery& before = own(*recovery);
  ++before.packets;
  if (!skipped) return seen;
  const Filled old = before.take_skipped(psn, span);
  state_.revisions.add(Assumption::lost_again, psn, old.frame);
  return old;
}

void Recoveries::fill_late(const Recovery& recovery, const Sent& gap, const Sent& filled,
                           const FillSigns& signs) {
  add_filled(own(recovery).filled, gap, filled, signs);
}

void Recoveries::begin_at(const Recovery& recovery, Sequence psn) {
  Recovery& before = own(recovery);
  before.start = std::min(before.start, psn);
  const Nak* const nak = state_.naks.asking_for(psn, state_.acked());
  if (nak == nullptr || nak->stamp > before.first) return;
  state_.naks.use(nak->frame);
  if (!before.is_by_timer() && before.cause != Cause::response_lost) return;
  before.cause = nak->rnr ? Cause::receiver_not_ready : Cause::sequence_nak;
  before.related_frame = nak->frame;
  before.since = nak->stamp;
  before.waits.asked = stamp_difference(before.first, nak->stamp);
  state_.revisions.add(Assumption::cause, before.start, before.first_frame);
}

Filled Recoveries::take_back_loss(const Recovery& recovery, Sequence psn, std::uint32_t span) {
  Recovery& before = own(recovery);
  const Filled gap = before.take_filled(psn, span);
  state_.revisions.add(Assumption::lost, psn, gap.frame);
  if (before.start != psn) return gap;
  before.cause = Cause::reordered;
  state_.revisions.add(Assumption::cause, psn, before.first_frame);
  return gap;
}

Recoveries::Jump Recoveries::take_back_jump() {
  Jump jump = *std::exchange(jump_, nullptr);
  recovery_->skipped.pop_back();
  recovery_->next = jump.from;
  --recovery_->packets;
  --state_.counts.resent;
  state_.revisions.add(Assumption::sent_again, jump.sent.psn, jump.packet.number);
  state_.revisions.add(Assumption::lost_again, jump.from, jump.packet.number);
  if (Sent* const known = state_.log.find(jump.known.psn)) known->take_back_again(jump.known);
  return jump;
}

void Recoveries::take_back_fill(Sequence from, const Fill& fill) {
  recovery_->take_filled(fill.first, static_cast<std::uint32_t>(fill.next - fill.first));
  recovery_->next = from;
  std::erase_if(recovery_->skipped, [from](const Filled& gap) { return gap.first == from; });
  --recovery_->packets;
  --state_.counts.resent;
  state_.revisions.add(Assumption::sent_again, fill.first, fill.first_frame);
}

/// Returns the recovery of which all packets of `recovery` are late ones: it skipped them, nobody
/// asked for them, and a sender that goes back does not stop behind them. Null: none.
const Recovery* Recoveries::was_late_part(const Recovery& recovery) {
  constexpr Sequence kFew = 64, kNear = 4096;
  if (recovery.packets > kFew || recovery.next - recovery.start > kNear ||
      !state_.setup().goes_back() || recovery.next >= state_.next() || !recovery.filled.empty() ||
      recovery.cause == Cause::sequence_nak || recovery.cause == Cause::receiver_not_ready ||
      recovery.silence >= kShortestTimer)
    return nullptr;
  return find([&](const Recovery& before) {
    std::uint64_t packets = 0;
    state_.log.for_each(recovery.start, recovery.next, [&](const Sent& sent) {
      packets += sent.last_stamp >= recovery.first && before.skips(sent.psn);
    });
    return packets == recovery.packets;
  });
}

/// Whether a recovery is none: a single packet that nobody asked for, and behind which a sender
/// that goes back would send others.
bool Recoveries::is_late_packet(const Recovery& recovery) const noexcept {
  return state_.setup().goes_back() && state_.setup().answered && recovery.packets == 1 &&
         recovery.is_by_timer() && !recovery.follows_silence() && recovery.filled.empty() &&
         !recovery.fetches && recovery.next < state_.next() && !state_.ip_numbers().vary();
}

void Recoveries::report_late_packet(const Recovery& recovery) {
  Sent* const known = state_.log.find(recovery.next - 1);
  --state_.counts.resent;
  state_.revisions.add(Assumption::sent_again, recovery.start, recovery.first_frame);
  if (known == nullptr) return;
  --known->copies;
  CapturedPacket packet;
  packet.number = recovery.first_frame;
  packet.stamp = recovery.first;
  state_.report.copy(packet, known->psn, known, false, false);
}

void Recoveries::add_late_part(const Recovery& before, const Recovery& late) {
  own(before).packets += late.packets;
  std::vector<const Sent*> packets;
  state_.log.for_each(late.start, late.next, [&](const Sent& sent) {
    if (sent.last_stamp >= late.first && before.skips(sent.psn)) packets.push_back(&sent);
  });
  std::uint64_t next_frame = std::numeric_limits<std::uint64_t>::max();
  for (const Sent* const sent : packets | std::views::reverse) {
    const Filled skipped = own(before).take_skipped(sent->psn, sent->span);
    state_.revisions.add(Assumption::lost_again, sent->psn, skipped.frame);
    // What came behind a later one of the part was reported as late then.
    if (sent->last_frame > next_frame) continue;
    next_frame = sent->last_frame;
    CapturedPacket packet;
    packet.number = sent->last_frame;
    packet.stamp = sent->last_stamp;
    state_.report.late_in_recovery(packet, sent->psn, skipped);
  }
}

}  // namespace lw::analysis
