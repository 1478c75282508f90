// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/fetch_responses.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace lw::analysis {
namespace {

constexpr auto kAnyNumber = std::numeric_limits<std::uint8_t>::max();  // of answers that are due

/// Time from the first transmission of a request to a response, in ns.
std::uint32_t time_until(const CapturedPacket& response, const Sent& request) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::int64_t time = stamp_difference(response.stamp, request.stamp).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(time, 0, kMost));
}

/// Whether MSN `one` is lower than `other`; both have 24 bits.
bool is_lower_msn(std::uint32_t one, std::uint32_t other) noexcept {
  return wire::Psn::distance(wire::Psn{one}, wire::Psn{other}) > 0;
}

}  // namespace

bool FetchResponses::take_behind(const CapturedPacket& packet, Sequence psn, Sent& read) {
  if (psn - read.psn >= read.responses) return false;
  if (read.reused) return true;
  take_again(packet, psn, read);
  return true;
}

bool FetchResponses::add(const CapturedPacket& packet, Sequence psn, Sent& read,
                         std::optional<std::uint32_t> mtu) {
  const auto at = static_cast<std::uint32_t>(psn - read.psn);
  if (at > read.responses && !read.answered_before)
    state_.add(state_.placed({.first = read.psn + read.responses,
                              .packets = at - read.responses,
                              .frame = packet.number,
                              .stamp = packet.stamp,
                              .requested = read.stamp,
                              .ip_id = packet.ip_id}));
  note_first(packet, psn, read);
  if (read.responses == 0) read.until_response = time_until(packet, read);
  read.responses = at + 1;
  read.response_frame = packet.number;
  read.response_stamp = packet.stamp;
  state_.counts.payload += packet.payload;
  const bool ends = packet.info->position == wire::Position::last ||
                    packet.info->position == wire::Position::only;
  const bool span_known = read.span_known;
  read.span_known = span_known || ends;
  if (!span_known) read.dma_length += packet.payload;
  if (ends && mtu && read.has_reth && at + 1 != read.span && !read.asked_again)
    state_.report.read_span(packet, psn, read, at + 1, *mtu);
  if (!ends && (at + 1 != read.span || !span_known)) return false;
  read.answered = true;
  return true;
}

void FetchResponses::take_atomic(const CapturedPacket& packet, Sequence psn, Sent& atomic) {
  note_first(packet, psn, atomic);
  atomic.answered = true;
  atomic.until_response = time_until(packet, atomic);
  atomic.responses = 1;
  atomic.response_frame = packet.number;
  atomic.response_stamp = packet.stamp;
}

/// Notes the first response with its PSN.
void FetchResponses::note_first(const CapturedPacket& packet, Sequence psn, const Sent& request) {
  if (request.answers_due == kAnyNumber) seen_.add(packet, psn);
  first_end_ = std::max(first_end_, psn + 1);
  repeated_.end();
  again_.take_first(packet, psn, request);
  state_.ip_numbers.add_new(packet.ip_id);
}

/// Whether a request was repeated so late before a gap in its answer that its answer comes later.
bool FetchResponses::is_newer(const Sent& request, const ResponseGap& gap) const noexcept {
  const auto least = state_.answers.least_round_trip();
  return !least || stamp_difference(gap.stamp, request.last_stamp) < *least;
}

/// Whether a response of several packets does not follow the one before it. A responder sends them
/// in a row.
bool FetchResponses::comes_alone(Sequence psn, const Sent& request) const noexcept {
  return request.span > 1 && psn != state_.newest + 1;
}

/// Whether a response that was skipped was sent before the one that skipped it.
bool FetchResponses::is_late(const CapturedPacket& packet, Sequence psn,
                             const Sent& request) const noexcept {
  if (!request.asked_again) return true;
  if (state_.ip_numbers.ordered()) return state_.ip_numbers.is_late(packet.ip_id);
  const bool alone = comes_alone(psn, request);
  if (alone && psn != request.asked_from()) return true;
  if ((alone || request.copies == 1) && state_.is_too_soon(packet, request)) return true;
  // A responder counts completed messages, and puts the newest count into all answers.
  return packet.has_aeth && state_.newest_msn <= wire::Psn::kMask &&
         is_lower_msn(packet.msn, state_.newest_msn);
}

void FetchResponses::take_again(const CapturedPacket& packet, Sequence psn, Sent& request) {
  again_.decide_jump(psn);
  if (const auto gap = state_.gaps.covering(psn)) return take_missing(packet, psn, *gap, request);
  if (request.copies == 0 && request.answers_due == kAnyNumber)
    return take_unasked(packet, psn, request);
  if (take_old(packet, psn, request)) return;
  if (request.asked_again && again_.begins_late(packet, psn))
    return state_.ip_numbers.add(packet.ip_id);
  if (!request.asked_again || (request.answers_due > 0 && !again_.note(packet, psn, request)))
    return repeated_.add(packet, psn, {.frame = request.response_frame, .cause = Cause::path_copy},
                         false);
  again_.go_on(packet, psn);
  state_.ip_numbers.add(packet.ip_id);
  if (request.answered || psn + 1 != request.asked_end()) return;
  request.answered = true;
  if (request.crossed) return;
  request.response_frame = packet.number;
  request.response_stamp = packet.stamp;
}

/// Processes a response that came before, to a request that may have been sent again before the
/// capture began: the path has copied it, or it was sent again.
void FetchResponses::take_unasked(const CapturedPacket& packet, Sequence psn, const Sent& request) {
  const SeenResponse* const seen = seen_.find(psn);
  const SeenResponse before = seen != nullptr ? *seen
                                              : SeenResponse{.frame = request.response_frame,
                                                             .stamp = packet.stamp,
                                                             .msn = packet.msn,
                                                             .ip_id = packet.ip_id,
                                                             .begins = true};
  seen_.add(packet, psn);
  const bool differs = before.differs(packet, state_.ip_numbers.vary());
  if (seen != nullptr && !differs && state_.ip_numbers.vary() && !repeated_.goes_on(psn))
    return state_.report.response_copy(packet, psn, before.frame, Cause::path_copy);
  repeated_.add(packet, psn, {before.frame, before.stamp, before.begins}, differs);
}

/// Processes a response that fills no gap and is older than the newest one: it is late, and what
/// filled its gap was a repetition, or it is a copy. Its number shows it; or, without numbers, it
/// comes alone when all answers are complete, and was missing in one. Returns false if neither
/// shows it.
bool FetchResponses::take_old(const CapturedPacket& packet, Sequence psn, const Sent& request) {
  const bool follows = psn == again_.next() || (psn == state_.newest + 1 && psn != late_next_) ||
                       request.span == 1 || psn == request.asked_from();
  const bool unasked = !state_.ip_numbers.ordered() && request.answered && !follows;
  if (!unasked && !state_.ip_numbers.is_late(packet.ip_id)) return false;
  const auto gap = refilled_.covering(psn);
  if (unasked && !gap) return false;
  if (!unasked && (!gap || !IpNumbers::is_before(packet.ip_id, gap->ip_id))) {
    state_.report.response_copy(packet, psn, request.response_frame, Cause::path_copy);
    return true;
  }
  late_next_ = psn + 1;
  refilled_.fill(*gap, psn, [this](const ResponseGap& lost) { state_.report_lost(lost); });
  state_.report.late_response(packet, psn, *gap);
  return true;
}

/// Whether a response shows that what another one skipped was not missing: a repeated answer goes
/// on behind one to a later request, which was late itself.
bool FetchResponses::is_only_interrupted(Sequence psn, const ResponseGap& gap,
                                         const Sent& request) const noexcept {
  return gap.came_before && gap.packets > 1 && psn == gap.first &&
         gap.frame == state_.newest_frame && state_.newest >= request.psn + request.span;
}

/// Processes a response that was skipped: it is late, or was requested again.
void FetchResponses::take_missing(const CapturedPacket& packet, Sequence psn,
                                  const ResponseGap& old, Sent& request) {
  if (is_only_interrupted(psn, old, request)) {
    state_.gaps.remove(old);
    again_.go_on(packet, psn);
    return state_.ip_numbers.add(packet.ip_id);
  }
  if (!old.came_before) state_.counts.payload += packet.payload;
  const bool before = old.came_before && !is_newer(request, old) && comes_alone(psn, request);
  const bool late = before || is_late(packet, psn, request);
  if (!late) {
    note_lost(old, psn);
    if (!again_.note(packet, psn, request)) again_.begin(packet, psn);
    again_.go_on(packet, psn);
  } else if (psn < first_end_) {  // not only behind an ACK
    const bool again = old.came_before && request.copies > 1 && !state_.ip_numbers.ordered();
    state_.report.late_response(packet, psn, old, again);
    late_gaps_.add({psn, 1, old.frame, old.stamp});
  }
  first_end_ = std::max(first_end_, psn + 1);
  state_.ip_numbers.add(packet.ip_id);
  fill(old, psn);
  if (!late) note_lost_in_others(psn);
  const Sequence end = request.psn + request.span;
  if (!late || psn + 1 == end) {
    request.response_frame = packet.number;
    request.response_stamp = packet.stamp;
  }
  // A requester takes responses in order: those behind one that was lost come again, unless it asks
  // for a part only.
  const bool ends = late || psn + 1 == end || request.last_left > 0;
  request.answered = ends && request.responses == request.span && !state_.gaps.in(request.psn, end);
  completed_ = request.psn;
  completed_stamp_ = packet.stamp;
}

/// A response has come: what is left of `gap` may still be filled.
void FetchResponses::fill(const ResponseGap& gap, Sequence psn) {
  state_.gaps.fill(gap, psn, [this](const ResponseGap& final) { state_.report_missing(final); });
}

/// A response came again that was missing in other answers, too.
void FetchResponses::note_lost_in_others(Sequence psn) {
  constexpr int kMostAnswers = 16;  // strangers may make a thousand gaps with one PSN
  for (int answer = 0; answer < kMostAnswers; ++answer) {
    const auto gap = state_.gaps.covering(psn);
    if (!gap) return;
    note_lost(*gap, psn);
    fill(*gap, psn);
  }
}

/// Notes that the response with `psn`, which `gap` lacks, was lost: it came again.
void FetchResponses::note_lost(const ResponseGap& gap, Sequence psn) {
  ResponseGap lost = gap;
  lost.first = psn;
  lost.packets = 1;
  lost.named = gap.named && psn == gap.first;
  if (const auto final = refilled_.add(lost)) state_.report_lost(*final);
}

void FetchResponses::ask_again(Sent& request, Sequence from) {
  again_.decide_jump(0);
  state_.gaps.ask_again(from, request.asked_end());
  again_.ask_again(request, from);
  constexpr std::uint32_t kMany = 3;  // repetitions
  refused_reads_ += request.answered && request.copies == kMany && is_long_read(request);
  request.answered = false;  // the requester has not taken the answer
  ++state_.counts.fetches_repeated;
  note_copy(request);
}

void FetchResponses::note_sent_before(Sent& request) noexcept {
  request.asked_again = true;
  request.answers_due = kAnyNumber;
}

void FetchResponses::note_copy(Sent& request) noexcept {
  request.asked_again = true;
  if (request.answers_due < kAnyNumber) ++request.answers_due;
}

void FetchResponses::skip_rest(Sent& request, const CapturedPacket& packet) {
  const Sequence expected = request.psn + request.responses;
  if (request.span == request.responses) return;
  if (request.reused) {
    request.responses = request.span;
    request.answered = true;
    return;
  }
  if (!request.answered_before)
    state_.add(state_.placed({.first = expected,
                              .packets = request.span - request.responses,
                              .frame = packet.number,
                              .stamp = packet.stamp,
                              .requested = request.stamp,
                              .ip_id = packet.ip_id}));
  request.responses = request.span;
}

}  // namespace lw::analysis
