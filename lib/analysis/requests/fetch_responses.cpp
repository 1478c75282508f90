// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/fetch_responses.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace lw::analysis {
namespace {

constexpr auto kAnyNumber = std::numeric_limits<std::uint8_t>::max();  // of answers that are due

/// Returns the gap that `packet`, of an answer to a repeated request, shows: the PSNs from `first`
/// to the one before `end`.
ResponseGap gap_in_repetition(const CapturedPacket& packet, Sequence first, Sequence end) noexcept {
  return {.first = first,
          .packets = end - first,
          .frame = packet.number,
          .stamp = packet.stamp,
          .asked_again = true,
          .came_before = true,
          .ip_id = packet.ip_id};
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

bool FetchResponses::take(const CapturedPacket& packet, Sequence psn, Sent& read,
                          std::optional<std::uint32_t> mtu) {
  const auto at = static_cast<std::uint32_t>(psn - read.psn);
  if (at > read.responses && !read.answered_before)
    add_gap({.first = read.psn + read.responses,
             .packets = at - read.responses,
             .frame = packet.number,
             .stamp = packet.stamp,
             .requested = read.stamp,
             .ip_id = packet.ip_id});
  note_first(packet, psn, read);
  read.responses = at + 1;
  read.response_frame = packet.number;
  read.response_stamp = packet.stamp;
  counts_.payload += packet.payload;
  const bool ends = packet.info->position == wire::Position::last ||
                    packet.info->position == wire::Position::only;
  const bool span_known = std::exchange(read.span_known, read.span_known || ends);
  if (!span_known) read.dma_length += packet.payload;
  if (ends && mtu && read.has_reth && at + 1 != read.span && !read.asked_again)
    report_.read_span(packet, psn, read, at + 1, *mtu);
  if (!ends && (at + 1 != read.span || !span_known)) return false;
  read.answered = true;
  return true;
}

void FetchResponses::take_atomic(const CapturedPacket& packet, Sequence psn, Sent& atomic) {
  note_first(packet, psn, atomic);
  atomic.answered = true;
  atomic.responses = 1;
  atomic.response_frame = packet.number;
  atomic.response_stamp = packet.stamp;
}

/// Notes the first response with its PSN.
void FetchResponses::note_first(const CapturedPacket& packet, Sequence psn, const Sent& request) {
  if (request.answers_due == kAnyNumber) seen_.add(packet, psn);
  decide_jump(psn);
  first_end_ = std::max(first_end_, psn + 1);
  repeated_.end();
  if (const Sent* const before = skip_rest_of_again(psn, packet))
    skip_reads(*before, request.psn, packet);
  ip_numbers_.add_new(packet.ip_id);
  // Nobody answered before: what was asked for again is answered for the first time.
  const bool within = again_next_ > request.psn && again_next_ <= psn;
  if (again_next_ == psn || within) again_next_ = psn + 1;
}

/// Whether a response comes far sooner after the newest request than any answer does.
bool FetchResponses::is_too_soon(const CapturedPacket& packet, const Sent& request) const noexcept {
  if (counts_.rtt.count() == 0) return false;
  constexpr Duration kJitter = std::chrono::microseconds{1};
  const Duration least{counts_.rtt.minimum()};
  return stamp_difference(packet.stamp, request.last_stamp) + least / 8 + kJitter < least;
}

/// Whether a request was repeated so late before a gap in its answer that its answer comes later.
bool FetchResponses::is_newer(const Sent& request, const ResponseGap& gap) const noexcept {
  return counts_.rtt.count() == 0 ||
         stamp_difference(gap.stamp, request.last_stamp) < Duration{counts_.rtt.minimum()};
}

/// Whether a response of several packets does not follow the one before it. A responder sends them
/// in a row.
bool FetchResponses::comes_alone(Sequence psn, const Sent& request) const noexcept {
  return request.span > 1 && psn != newest_ + 1;
}

/// Whether a response that was skipped was sent before the one that skipped it.
bool FetchResponses::is_late(const CapturedPacket& packet, Sequence psn,
                             const Sent& request) const noexcept {
  if (!request.asked_again) return true;
  if (ip_numbers_.ordered()) return ip_numbers_.is_late(packet.ip_id);
  const bool alone = comes_alone(psn, request);
  if (alone && psn != request.psn + request.last_at) return true;
  if ((alone || request.copies == 1) && is_too_soon(packet, request)) return true;
  // A responder counts completed messages, and puts the newest count into all answers.
  return packet.has_aeth && newest_msn_ <= wire::Psn::kMask &&
         is_lower_msn(packet.msn, newest_msn_);
}

/// Whether a response is the first one of an answer, and comes behind others of it; or of the next
/// answer, which the response behind it shows. Call it for each that comes again.
bool FetchResponses::begins_late(const CapturedPacket& packet, Sequence psn) {
  const Sequence begin = std::exchange(late_begin_, 0);
  if (begin != 0 && psn == begin + 1 && psn != again_next_) {
    begin_again(packet, begin);
    again_next_ = psn;
  }
  if (psn != without_) return false;
  late_begin_ = std::exchange(without_, 0);
  return true;
}

/// Whether a response that came before belongs to the answer to a repeated request. Otherwise the
/// path copied it.
bool FetchResponses::continues_again(const CapturedPacket& packet, Sequence psn,
                                     const Sent& request) {
  const bool once = request.answers_due == 1;
  const std::optional<ResponseGap> before_row = std::exchange(before_row_, std::nullopt);
  const std::optional<Row> interrupted = std::exchange(interrupted_, std::nullopt);
  if (psn == again_next_) {
    if (before_row) add_gap(*before_row);
    if (psn == request.psn + request.last_at) begin_again(packet, psn);
    return true;
  }
  if (interrupted && psn == interrupted->next && interrupted->frame == newest_frame_) {
    again_first_ = interrupted->first;
    again_begin_ = interrupted->begin;
    return true;
  }
  const Sequence asked = request.psn + request.last_at;
  const bool alone = again_first_ + 1 == again_next_ && again_first_ > asked;
  const bool begun = !alone && again_next_ > request.psn && again_first_ <= psn &&
                     again_begin_ >= request.last_stamp;
  if (psn < again_next_ && begun && once) return false;  // its only answer has come further
  if (psn > again_next_ && begun)
    skip_again(again_next_, psn, packet);
  else if (psn > again_next_ && skip_to_next_read(packet, psn, request))
    return true;
  else
    begin_inside(packet, psn, request);
  if (again_first_ == psn && psn == request.psn + request.last_at + 1) without_ = psn - 1;
  return true;
}

/// The responder begins to answer a repeated request. If it does so with a packet that begins no
/// answer, those before it are missing, unless the path copied it: it copies single packets.
void FetchResponses::begin_inside(const CapturedPacket& packet, Sequence psn, const Sent& request) {
  const Sequence asked = request.psn + request.last_at;
  const Sequence first = again_next_ > asked && again_next_ < psn ? again_next_ : asked;
  begin_row(packet, psn);
  if (!is_too_soon(packet, request)) hold_gap_before(packet, first, psn);
}

/// The PSNs from `first` to the one before `end`, which `packet` has, are missing in an answer if
/// another packet of it follows.
void FetchResponses::hold_gap_before(const CapturedPacket& packet, Sequence first, Sequence end) {
  if (packet.begins_message() || end <= first + 1) return;
  before_row_ = gap_in_repetition(packet, first, end);
}

/// Whether the numbers of the responder's IP packets show that it sent each response between
/// again_next_ and `psn` before `packet`: it counts one for each, and for nothing else.
bool FetchResponses::were_all_sent(const CapturedPacket& packet, Sequence psn) {
  constexpr Sequence kMost = 256;
  const Sequence packets = psn - again_next_;
  if (!ip_numbers_.ordered() || packets > kMost ||
      static_cast<std::uint16_t>(packet.ip_id - newest_ip_id_ - 1) != packets)
    return false;
  for (Sequence at = again_next_; at < psn;) {
    const Sent* const read = log_.find(at);
    if (read == nullptr || !read->fetches || !read->asked_again) return false;
    at = read->psn + read->span;
  }
  return true;
}

/// The responses go on at a later READ, which was repeated with the one before: the rest of that
/// one is missing, and what is missing at the begin of this one. Of READs in between, the responder
/// may not have got the request, unless the numbers of its IP packets show that it answered them.
/// Returns whether this is so.
bool FetchResponses::skip_to_next_read(const CapturedPacket& packet, Sequence psn,
                                       const Sent& request) {
  const Sent* const before = log_.find(again_next_ - 1);
  if (before == nullptr || !before->asked_again || again_begin_ < before->last_stamp ||
      request.last_stamp < before->last_stamp || again_next_ > request.psn)
    return false;
  if (were_all_sent(packet, psn)) {
    skip_again(again_next_, psn, packet);
    return true;
  }
  const Row row{again_next_, again_first_, again_begin_, packet.number, psn};
  jumps_ = true;
  skip_again(again_next_, before->psn + before->span, packet);
  skip_reads(*before, request.psn, packet);
  const Sequence asked = request.psn + request.last_at;
  if (psn > asked + 1)
    hold_gap_before(packet, asked, psn);
  else
    skip_again(asked, psn, packet);
  jumps_ = false;
  if (!jumped_.empty()) again_row_ = psn;
  interrupted_ = row;
  return true;
}

/// Adds the gaps that the last response showed when it jumped to a later READ, unless the one with
/// `psn` goes on with the answer before: then it was late, or a copy.
void FetchResponses::decide_jump(Sequence psn) {
  if (jumped_.empty()) return;
  const std::vector<ResponseGap> jumped = std::exchange(jumped_, {});
  if (interrupted_ && psn == interrupted_->next && interrupted_->frame == newest_frame_) return;
  const Sequence other = interrupted_ ? interrupted_->other : newest_;
  const Sent* const read = log_.find(other);
  const bool begins = read != nullptr && other == read->psn + read->last_at;
  if (psn != 0 && psn != other + 1 && !begins && !ip_numbers_.ordered()) return;
  for (const ResponseGap& gap : jumped) insert_gap(gap);
}

const Sent* FetchResponses::skip_rest_of_again(Sequence psn, const CapturedPacket& packet) {
  constexpr Sequence kSeries = 2;
  if (psn <= again_next_ || again_next_ == 0) return nullptr;
  const Sent* const before = log_.find(again_next_ - 1);
  if (before == nullptr || !before->asked_again || again_begin_ < before->last_stamp)
    return nullptr;
  // A single response may be a copy of an earlier one.
  const bool begins = ip_numbers_.ordered() && again_first_ == before->psn + before->last_at;
  if (!begins && again_next_ < again_row_ + kSeries) return nullptr;
  const Sequence end = before->psn + before->span;
  if (psn < end) return nullptr;
  skip_again(again_next_, end, packet);
  again_next_ = end;
  return before;
}

/// The responder has answered the repeated request `before`, and then one with the PSN `end`. The
/// answers to those in between, which were repeated with it, were lost, or their requests were.
void FetchResponses::skip_reads(const Sent& before, Sequence end, const CapturedPacket& packet) {
  constexpr Sequence kMost = 256;
  const Sequence first = std::max(before.psn + before.span, again_end_);
  if (end <= first || end - first > kMost) return;
  const Instant asked = before.last_stamp;
  const Duration least{counts_.rtt.count() > 0 ? counts_.rtt.minimum() : 0};
  log_.for_each(first, end, [&](const Sent& request) {
    const bool due = request.fetches && request.copies > 0 && request.last_stamp >= asked &&
                     request.last_stamp < again_begin_ &&
                     stamp_difference(request.response_stamp, request.last_stamp) <= least / 2;
    if (!due) return;
    again_next_ = again_end_ = request.psn + request.span;
    skip_again(request.psn + request.last_at, again_next_, packet, true);
  });
}

/// The responder begins to answer repeated requests.
void FetchResponses::begin_again(const CapturedPacket& packet, Sequence psn) noexcept {
  if (psn != again_next_) again_row_ = psn;
  again_first_ = psn;
  again_begin_ = packet.stamp;
}

/// A response that does not follow the one before begins an answer, unless it was late, and the
/// next one goes on with the answer before.
void FetchResponses::begin_row(const CapturedPacket& packet, Sequence psn) noexcept {
  interrupted_ = Row{again_next_, again_first_, again_begin_, packet.number, psn};
  begin_again(packet, psn);
}

/// A response to a repeated request skips the PSNs from `first` to the one before `end`.
/// `may_be_unasked`: as in ResponseGap.
void FetchResponses::skip_again(Sequence first, Sequence end, const CapturedPacket& packet,
                                bool may_be_unasked) {
  if (first >= end) return;
  ResponseGap gap = gap_in_repetition(packet, first, end);
  gap.may_be_unasked = may_be_unasked;
  add_gap(gap);
}

void FetchResponses::take_again(const CapturedPacket& packet, Sequence psn, Sent& request) {
  decide_jump(psn);
  if (const auto gap = gaps_.covering(psn)) return take_missing(packet, psn, *gap, request);
  if (request.copies == 0 && request.answers_due == kAnyNumber)
    return take_unasked(packet, psn, request);
  if (take_old(packet, psn, request)) return;
  if (request.asked_again && begins_late(packet, psn)) return ip_numbers_.add(packet.ip_id);
  if (!request.asked_again || (request.answers_due > 0 && !continues_again(packet, psn, request)))
    return repeated_.add(packet, psn, {.frame = request.response_frame, .cause = Cause::path_copy},
                         false);
  again_next_ = psn + 1;
  again_end_ = std::max(again_end_, again_next_);
  ip_numbers_.add(packet.ip_id);
  if (again_next_ == request.psn + request.span) request.answered = true;
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
  const bool differs = before.differs(packet, ip_numbers_.vary());
  if (seen != nullptr && !differs && ip_numbers_.vary() && !repeated_.goes_on(psn))
    return report_.response_copy(packet, psn, before.frame, Cause::path_copy);
  repeated_.add(packet, psn, {before.frame, before.stamp, before.begins}, differs);
}

/// Processes a response that its number shows to be older than the newest one, and that fills no
/// gap: it is late, and what filled its gap was a repetition, or it is a copy. Returns false if its
/// number does not show it.
bool FetchResponses::take_old(const CapturedPacket& packet, Sequence psn, const Sent& request) {
  const bool follows = psn == again_next_ || (psn == newest_ + 1 && psn != late_next_) ||
                       request.span == 1 || psn == request.psn + request.last_at;
  const bool unasked = !ip_numbers_.ordered() && request.answered && !follows;
  if (!unasked && !ip_numbers_.is_late(packet.ip_id)) return false;
  const auto gap = refilled_.covering(psn);
  if (unasked && !gap) return false;
  if (!unasked && (!gap || !IpNumbers::is_before(packet.ip_id, gap->ip_id))) {
    report_.response_copy(packet, psn, request.response_frame, Cause::path_copy);
    return true;
  }
  late_next_ = psn + 1;
  refilled_.fill(*gap, psn, [this](const ResponseGap& lost) { report_lost(lost); });
  report_.late_response(packet, psn, *gap);
  return true;
}

/// Whether a response shows that what another one skipped was not missing: a repeated answer goes
/// on behind one to a later request, which was late itself.
bool FetchResponses::is_only_interrupted(Sequence psn, const ResponseGap& gap,
                                         const Sent& request) const noexcept {
  return gap.came_before && gap.packets > 1 && psn == gap.first && gap.frame == newest_frame_ &&
         newest_ >= request.psn + request.span;
}

/// Processes a response that was skipped: it is late, or was requested again.
void FetchResponses::take_missing(const CapturedPacket& packet, Sequence psn,
                                  const ResponseGap& old, Sent& request) {
  if (is_only_interrupted(psn, old, request)) {
    gaps_.remove(old);
    again_next_ = psn + 1;
    return ip_numbers_.add(packet.ip_id);
  }
  if (!old.came_before) counts_.payload += packet.payload;
  const bool before = old.came_before && !is_newer(request, old) && comes_alone(psn, request);
  const bool late = before || is_late(packet, psn, request);
  if (!late) {
    note_lost(old, psn);
    if (!continues_again(packet, psn, request)) begin_row(packet, psn);
    again_next_ = psn + 1;
    again_end_ = std::max(again_end_, again_next_);
  } else if (psn < first_end_) {  // not only behind an ACK
    report_.late_response(packet, psn, old);
    late_gaps_.add({psn, 1, old.frame, old.stamp});
  }
  first_end_ = std::max(first_end_, psn + 1);
  ip_numbers_.add(packet.ip_id);
  const auto fill = [&](const ResponseGap& gap) {
    gaps_.fill(gap, psn, [this](const ResponseGap& final) { report_missing(final); });
  };
  fill(old);
  // It may have been missing in several answers.
  for (auto gap = gaps_.covering(psn); gap && !late; gap = gaps_.covering(psn)) {
    note_lost(*gap, psn);
    fill(*gap);
  }
  request.response_frame = packet.number;
  request.response_stamp = packet.stamp;
  request.answered =
      request.responses == request.span && !gaps_.in(request.psn, request.psn + request.span);
}

/// Notes that the response with `psn`, which `gap` lacks, was lost: it came again.
void FetchResponses::note_lost(const ResponseGap& gap, Sequence psn) {
  ResponseGap lost = gap;
  lost.first = psn;
  lost.packets = 1;
  lost.named = gap.named && psn == gap.first;
  if (const auto final = refilled_.add(lost)) report_lost(*final);
}

void FetchResponses::ask_again(Sent& request, Sequence from) {
  decide_jump(0);
  if (from < asked_) again_end_ = from;
  asked_ = from;
  gaps_.ask_again(from, request.psn + request.span);
  report_rest(request, from);
  request.answered = false;  // the requester has not taken the answer
  ++counts_.fetches_repeated;
  note_copy(request);
}

/// The requester asks again from the response on with which a repeated answer would go on, and
/// which did not come in a timer's time: what is missing of that answer was lost.
void FetchResponses::report_rest(const Sent& request, Sequence from) {
  if (from != again_next_ || again_first_ < request.psn || again_first_ >= from ||
      stamp_difference(request.last_stamp, again_begin_) < kShortestTimer)
    return;
  again_first_ = from;
  report_lost({.first = from,
               .packets = request.psn + request.span - from,
               .frame = request.last_frame,
               .stamp = request.last_stamp});
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
    add_gap({.first = expected,
             .packets = request.span - request.responses,
             .frame = packet.number,
             .stamp = packet.stamp,
             .requested = request.stamp,
             .ip_id = packet.ip_id});
  request.responses = request.span;
}

void FetchResponses::add_gap(ResponseGap gap) {
  gap.in_row = gap.first == newest_ + 1 || (gap.frame == row_frame_ && gap.first == row_end_);
  if (gap.in_row) {
    row_frame_ = gap.frame;
    row_end_ = gap.first + gap.packets;
  }
  if (jumps_)
    jumped_.push_back(gap);
  else
    insert_gap(gap);
}

void FetchResponses::insert_gap(const ResponseGap& gap) {
  if (const auto old = gaps_.add(gap)) report_missing(*old);
}

/// Reports a gap that nothing filled. The requester asked again for what was lost.
void FetchResponses::report_missing(const ResponseGap& gap) {
  report_.response_gap(gap,
                       gap.asked_again ? Cause::lost_before_capture : Cause::missing_in_capture);
}

}  // namespace lw::analysis
