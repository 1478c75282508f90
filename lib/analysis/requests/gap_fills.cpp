// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/gap_fills.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lw::analysis {
namespace {

/// Whether a packet comes so soon after the gap that it fills that nobody can have asked for it. In
/// a recovery in which the sender goes back, it repeats it for an earlier one.
bool is_unasked(const StreamState& state, const CapturedPacket& packet, const Sent& gap,
                Cause cause) noexcept {
  const bool goes_back = cause != Cause::sequence_nak && cause != Cause::reordered;
  return state.setup().scheme == RecoveryScheme::selective && !goes_back &&
         stamp_difference(packet.stamp, gap.stamp) < state.setup().soonest();
}

/// Whether a single packet that filled a gap begins no recovery of a sender that goes back: that
/// sends the next packet sooner. `after`: time from the NAK, or from the gap, to this packet;
/// `pause`: from it to the next request.
bool has_paused(const StreamState& state, const Fill& fill, Duration after,
                Duration pause) noexcept {
  constexpr int kMuch = 2;
  const bool shows_naks = !state.begin.joined() || state.begin.is_over();
  return state.setup().goes_back() && fill.packets == 1 && shows_naks && pause > kMuch * after;
}

/// Whether a NAK of `psn`, with which a recovery begins, shows that the packets that filled a gap
/// before were late: no NAK and no timer asked for them. `pause`: the time before it.
bool was_late(StreamState& state, const Fill& fill, Sequence psn, Duration pause) {
  if (fill.nak_frame != 0) return false;
  const Duration after = stamp_difference(fill.first_stamp, fill.filled.front().stamp);
  // No answer to the packets that overtook it can have come by then.
  if (after < std::min(kShortestTimer, state.least_round_trip())) return true;
  if (state.setup().answered && after < kShortestTimer && has_paused(state, fill, after, pause))
    return true;
  const Nak* const nak = state.naks.asking_for(psn, state.acked());
  return nak != nullptr && nak->psn == psn && nak->stamp > fill.last_stamp &&
         after < kShortestTimer;
}

/// Whether a NAK asked for the packets that filled a gap: they came no sooner than any answer to a
/// NAK did, and a sender that goes back repeated the later ones as well. `new_follows`: the next
/// request is new. `pause`: the time before it. Nothing: the capture shows no such answer, or
/// nothing asked for them.
std::optional<bool> was_asked_for(StreamState& state, const Fill& fill, bool selective,
                                  bool new_follows, Duration pause) {
  const Nak* const nak = state.naks.of_frame(fill.nak_frame);
  if (nak == nullptr || nak->psn != fill.first) return std::nullopt;
  const Duration after = stamp_difference(fill.first_stamp, nak->stamp);
  if (state.begin.was_named_before(fill.first)) return std::nullopt;  // by an earlier NAK, too
  if (after < state.setup().soonest()) return false;
  if (!selective && has_paused(state, fill, after, pause)) return false;
  if (state.setup().goes_back() && !selective && new_follows && fill.next < state.next())
    return false;
  // Another one may be a little sooner than the soonest so far: what follows tells.
  if (selective && state.setup().least_reaction && after >= *state.setup().least_reaction)
    return true;
  return std::nullopt;
}

/// Whether packets below the PSN that the capture began with were sent before it, and are sent
/// again: no path delays as many in a row.
bool was_sent_before(const StreamState& state, const Fill& fill) noexcept {
  return fill.next <= state.begin.psn() && fill.packets >= CaptureBegin::kManyInARow;
}

/// Without answers: whether packets that filled a gap begin a recovery that goes on with a packet
/// seen before. What is late by some time is not repeated for that soon.
bool goes_on_soon(const StreamState& state, const Fill& fill, const CapturedPacket& next,
                  Sequence psn) noexcept {
  constexpr int kSoon = 2;  // divided by
  if (state.setup().answered || psn < fill.next) return false;
  const Duration late = stamp_difference(fill.first_stamp, fill.filled.front().stamp);
  return stamp_difference(next.stamp, fill.last_stamp) < late / kSoon &&
         (state.setup().goes_back() || late >= kShortestTimer);
}

/// Whether a packet that filled a gap after a NAK was sent again, and comes again now because the
/// NAK was repeated: a sender that repeats single packets answers each.
bool is_named_again(StreamState& state, const Fill& fill) noexcept {
  const Nak* const nak = state.naks.of_frame(fill.nak_frame);
  if (state.setup().scheme != RecoveryScheme::selective || nak == nullptr) return false;
  return nak->is_repeated() || state.naks.frame_naming(fill.first, fill.first) > fill.last_frame;
}

}  // namespace

void GapFills::note(const CapturedPacket& packet, const Sent& sent) {
  const Sent gap = *state_.log.find(sent.psn);
  const FillSigns signs{
      .asked = state_.naks.frame_naming(sent.psn, sent.psn) != 0,
      .taken = state_.was_taken(sent.psn + sent.span),
      .reported = state_.log.waiting() == 0 || sent.psn < state_.log.oldest_waiting().psn};
  Sent& filled = state_.log.fill(sent);
  state_.fetched.note_request(filled);
  state_.counts.payload += packet.payload;
  // It may have been answered before the capture began.
  filled.asked_again |= state_.begin.may_repeat() && filled.fetches;
  const Recovery* const recovery = recoveries_.running();
  if (recovery != nullptr && sent.psn >= recovery->next &&
      !is_unasked(state_, packet, gap, recovery->cause)) {
    if (sent.psn > recovery->next) note_jump(packet, gap, filled);
    return recoveries_.take_filled(packet, gap, filled, signs);
  }
  if (recovery != nullptr && recovery->skips(sent.psn) && !signs.asked &&
      !state_.ip_numbers().ordered()) {
    behind_ = std::make_unique<Behind>(Behind{packet, gap, filled, signs});
    return;
  }
  add(packet, gap, filled);
}

/// Adds a packet that fills a part of `gap` to those that the next request decides about.
void GapFills::add(const CapturedPacket& packet, const Sent& gap, const Sent& filled) {
  if (!fill_) {
    recoveries_.end();
    fill_ = Fill{.first = filled.psn, .first_frame = packet.number, .first_stamp = packet.stamp};
    fill_->nak_frame = state_.naks.frame_naming(gap.psn, filled.psn);
    fill_->numbers_skipped = state_.ip_numbers().skipped_before(packet.ip_id);
    fill_->silence = state_.silence();
  }
  fill_->add(gap, filled);
  state_.late.add(filled.psn, packet.stamp);
  // Its number shows that it was sent again, not late.
  if (state_.ip_numbers().ordered() && state_.reliable())
    recoveries_.begin(*std::exchange(fill_, std::nullopt));
}

/// Notes a packet that fills a gap further on than the recovery is.
void GapFills::note_jump(const CapturedPacket& packet, const Sent& gap, const Sent& filled) {
  jump_ = Jump{recoveries_.next(),
               {.first = filled.psn, .first_frame = packet.number, .first_stamp = packet.stamp}};
  jump_->fill.add(gap, filled);
}

void GapFills::judge_behind(Sequence next) {
  const Behind behind = *std::exchange(behind_, nullptr);
  const Recovery* const recovery = recoveries_.running();
  const Sequence psn = behind.filled.psn;
  if (recovery == nullptr || next != recovery->next || !recovery->skips(psn))
    return add(behind.packet, behind.gap, behind.filled);
  const Filled skipped = recoveries_.add_late(recovery, psn, behind.filled.span, {}, true);
  recoveries_.fill_late(*recovery, behind.gap, behind.filled, behind.signs);
  state_.late.add(psn, behind.packet.stamp);
  state_.report.late_in_recovery(behind.packet, psn, skipped);
}

void GapFills::judge_jump(Sequence next) {
  const Jump jump = std::move(*std::exchange(jump_, std::nullopt));
  if (recoveries_.running() == nullptr || next != jump.from) return;
  recoveries_.take_back_fill(jump.from, jump.fill);
  state_.late.add(jump.fill.first, jump.fill.first_stamp);
  state_.note_late(jump.fill, Cause::none);
}

void GapFills::judge(const CapturedPacket& next, Sequence psn, const Sent* known) {
  if (held_ && psn <= held_->first && known != nullptr && known->seen)
    judge_held(stamp_difference(next.stamp, held_->last_stamp) < kShortestTimer &&
               !is_named_again(state_, *held_));
  if (fill_) decide(&next, psn, known);
}

/// Decides about fill_. `next`: null: there is no other request.
void GapFills::decide(const CapturedPacket* next, Sequence psn, const Sent* known) {
  if (fill_->has_jumped_from(psn)) state_.note_late(fill_->take_newest(psn), Cause::none);
  const bool goes_on = psn == fill_->next;
  // The packet fills a gap as well. After a NAK, a sender that repeats single packets fills
  // several.
  const bool fills = known != nullptr && !known->seen;
  if (fills && (goes_on || (fill_->nak_frame != 0 && psn > fill_->next))) return;
  Fill fill = std::move(*fill_);
  fill_.reset();
  const Duration pause =
      next != nullptr ? stamp_difference(next->stamp, fill.last_stamp) : Duration{};
  const auto asked_for =
      was_asked_for(state_, fill, recoveries_.selective(), known == nullptr, pause);
  const bool sent_before = was_sent_before(state_, fill);
  if (sent_before) state_.begin.note_sent_before();
  const bool goes_back =
      sent_before ||
      (next != nullptr && known != nullptr && goes_on_soon(state_, fill, *next, psn)) ||
      (!asked_for && psn == fill.first && is_named_again(state_, fill)) ||
      asked_for.value_or(known != nullptr && psn >= fill.next && (goes_on || fill.nak_frame != 0) &&
                         !was_late(state_, fill, psn, pause));
  if (goes_back && state_.reliable()) {
    recoveries_.begin(std::move(fill));
  } else if (!asked_for && fill.nak_frame != 0 && !(known != nullptr && psn <= fill.first)) {
    judge_held(false);
    held_ = std::move(fill);
  } else {
    state_.naks.note_late(fill.nak_frame);
    state_.note_late(fill, fill.nak_frame != 0 ? Cause::sequence_nak : Cause::none);
  }
}

/// A packet filled a gap after a NAK, and new packets followed: the sender repeats single packets,
/// or the packet was late. If it is late, the sender repeats it.
void GapFills::judge_held(bool repeated) {
  if (!held_) return;
  const Fill fill = std::move(*held_);
  held_.reset();
  if (repeated) {
    state_.naks.note_late(fill.nak_frame);
    return state_.note_late(fill, Cause::sequence_nak);
  }
  recoveries_.begin(fill);
  recoveries_.end();
}

void GapFills::take_nak(Sequence psn) {
  // Packets after the one that filled the gap are still on their way: it was not sent again.
  if (held_ && psn == held_->next) judge_held(true);
  if (fill_ && fill_->nak_frame != 0 && psn == fill_->next) {
    held_ = std::move(fill_);
    fill_.reset();
    judge_held(true);
  }
}

}  // namespace lw::analysis
