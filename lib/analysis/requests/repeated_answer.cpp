// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/repeated_answer.h"

#include <algorithm>
#include <utility>

namespace lw::analysis {
namespace {

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

}  // namespace

void RepeatedAnswer::take_first(const CapturedPacket& packet, Sequence psn, const Sent& request) {
  decide_jump(psn);
  if (const Sent* const before = skip_rest(psn, packet)) {
    Gaps gaps;
    skip_reads(*before, request.psn, packet, gaps);
    for (const ResponseGap& gap : gaps) state_.add(gap);
  }
  // Nobody answered before: what was asked for again is answered for the first time.
  const bool within = next_ > request.psn && next_ <= psn;
  if (next_ != psn && !within) return;
  next_ = psn + 1;
  note_end(packet, psn);
}

void RepeatedAnswer::ask_again(const Sent& request, Sequence from) {
  if (from < asked_) end_ = from;
  asked_ = from;
  report_rest(request, from);
}

bool RepeatedAnswer::begins_late(const CapturedPacket& packet, Sequence psn) {
  const Sequence begin = std::exchange(late_begin_, 0);
  if (begin != 0 && psn == begin + 1 && psn != next_) {
    begin_at(packet, begin);
    next_ = psn;
  }
  if (psn != without_) return false;
  late_begin_ = std::exchange(without_, 0);
  return true;
}

bool RepeatedAnswer::note(const CapturedPacket& packet, Sequence psn, const Sent& request) {
  const bool once = request.answers_due == 1;
  const std::optional<ResponseGap> before_row = std::exchange(before_row_, std::nullopt);
  const std::optional<Row> interrupted = std::exchange(interrupted_, std::nullopt);
  if (psn == next_) {
    if (before_row) state_.add(state_.placed(*before_row));
    if (psn == request.asked_from()) begin_at(packet, psn);
    return true;
  }
  if (interrupted && psn == interrupted->next && interrupted->frame == state_.newest_frame) {
    first_ = interrupted->first;
    begin_ = interrupted->begin;
    return true;
  }
  const Sequence asked = request.asked_from();
  const bool alone = !state_.ip_numbers.ordered() && first_ + 1 == next_ && first_ > asked;
  const bool begun = !alone && next_ > request.psn && first_ <= psn && begin_ >= request.last_stamp;
  if (psn < next_ && begun && once) return false;  // its only answer has come further
  if (psn > next_ && begun)
    add_gap(packet, next_, psn);
  else if (psn > next_ && skip_to_next_read(packet, psn, request))
    return true;
  else
    begin_inside(packet, psn, request);
  if (first_ == psn && psn == request.asked_from() + 1) without_ = psn - 1;
  return true;
}

/// The responder begins to answer a repeated request. If it does so with a packet that begins no
/// answer, those before it are missing, unless the path copied it: it copies single packets.
void RepeatedAnswer::begin_inside(const CapturedPacket& packet, Sequence psn, const Sent& request) {
  const Sequence asked = request.asked_from();
  const Sequence first = next_ > asked && next_ < psn ? next_ : asked;
  begin(packet, psn);
  if (!state_.is_too_soon(packet, request)) hold_gap_before(packet, first, psn);
}

/// The PSNs from `first` to the one before `end`, which `packet` has, are missing in an answer if
/// another packet of it follows.
void RepeatedAnswer::hold_gap_before(const CapturedPacket& packet, Sequence first, Sequence end) {
  if (packet.begins_message() || end <= first + 1) return;
  before_row_ = gap_in_repetition(packet, first, end);
}

/// Whether the numbers of the responder's IP packets show that it sent each response between
/// next_ and `psn` before `packet`: it counts one for each, and for nothing else.
bool RepeatedAnswer::were_all_sent(const CapturedPacket& packet, Sequence psn) {
  constexpr Sequence kMost = 256;
  const Sequence packets = psn - next_;
  if (!state_.ip_numbers.ordered() || packets > kMost ||
      static_cast<std::uint16_t>(packet.ip_id - state_.newest_ip_id - 1) != packets)
    return false;
  for (Sequence at = next_; at < psn;) {
    const Sent* const read = state_.log.find(at);
    if (read == nullptr || !read->fetches || !read->asked_again) return false;
    at = read->psn + read->span;
  }
  return true;
}

/// The responses go on at a later READ, which was repeated with the one before: the rest of that
/// one is missing, and what is missing at the begin of this one. Of READs in between, the responder
/// may not have got the request, unless the numbers of its IP packets show that it answered them.
/// Returns whether this is so.
bool RepeatedAnswer::skip_to_next_read(const CapturedPacket& packet, Sequence psn,
                                       const Sent& request) {
  const Sent* const before = state_.log.find(next_ - 1);
  if (before == nullptr || !before->asked_again || begin_ < before->last_stamp ||
      request.last_stamp < before->last_stamp || next_ > request.psn)
    return false;
  if (were_all_sent(packet, psn)) {
    add_gap(packet, next_, psn);
    return true;
  }
  const Row row{next_, first_, begin_, packet.number, psn};
  skip(next_, end_of(*before), packet, jumped_);
  skip_reads(*before, request.psn, packet, jumped_);
  const Sequence asked = request.asked_from();
  if (psn > asked + 1)
    hold_gap_before(packet, asked, psn);
  else
    skip(asked, psn, packet, jumped_);
  if (!jumped_.empty()) row_ = psn;
  if (psn == asked) {
    first_ = psn;
    begin_ = packet.stamp;
  }
  interrupted_ = row;
  return true;
}

void RepeatedAnswer::decide_jump(Sequence psn) {
  if (jumped_.empty()) return;
  const Gaps jumped = std::exchange(jumped_, {});
  if (interrupted_ && psn == interrupted_->next && interrupted_->frame == state_.newest_frame)
    return;
  const Sequence other = interrupted_ ? interrupted_->other : state_.newest;
  const Sent* const read = state_.log.find(other);
  const bool begins = read != nullptr && other == read->asked_from();
  if (psn != 0 && psn != other + 1 && !begins && !state_.ip_numbers.ordered()) return;
  for (const ResponseGap& gap : jumped) state_.add(gap);
}

const Sent* RepeatedAnswer::skip_rest(Sequence psn, const CapturedPacket& packet) {
  constexpr Sequence kSeries = 2;
  if (psn <= next_ || next_ == 0) return nullptr;
  const Sent* const before = state_.log.find(next_ - 1);
  if (before == nullptr || !before->asked_again || begin_ < before->last_stamp) return nullptr;
  // A single response may be a copy of an earlier one.
  const bool begins = state_.ip_numbers.ordered() && first_ == before->asked_from();
  if (!begins && next_ < row_ + kSeries) return nullptr;
  const Sequence end = end_of(*before);
  if (psn < end) return nullptr;
  add_gap(packet, next_, end);
  next_ = end;
  return before;
}

/// The responder has answered the repeated request `before`, and then one with the PSN `end`. The
/// answers to those in between, which were repeated with it, were lost, or their requests were:
/// adds them to `gaps`.
void RepeatedAnswer::skip_reads(const Sent& before, Sequence end, const CapturedPacket& packet,
                                Gaps& gaps) {
  constexpr Sequence kMost = 256;
  const Sequence first = std::max(before.psn + before.span, end_);
  if (end <= first || end - first > kMost) return;
  const Instant asked = before.last_stamp;
  const Duration least = state_.answers.least_round_trip().value_or(Duration{});
  state_.log.for_each(first, end, [&](const Sent& request) {
    const bool due = request.fetches && request.copies > 0 && request.last_stamp >= asked &&
                     request.last_stamp < begin_ &&
                     stamp_difference(request.response_stamp, request.last_stamp) <= least / 2;
    if (!due) return;
    next_ = end_ = request.asked_end();
    skip(request.asked_from(), next_, packet, gaps, true);
  });
}

/// The responder begins to answer repeated requests.
void RepeatedAnswer::begin_at(const CapturedPacket& packet, Sequence psn) noexcept {
  if (psn != next_) row_ = psn;
  first_ = psn;
  begin_ = packet.stamp;
}

/// A response to a repeated request skips the PSNs from `first` to the one before `end`: adds them
/// to `gaps`. `may_be_unasked`: as in ResponseGap.
void RepeatedAnswer::skip(Sequence first, Sequence end, const CapturedPacket& packet, Gaps& gaps,
                          bool may_be_unasked) {
  if (first >= end) return;
  ResponseGap gap = gap_in_repetition(packet, first, end);
  gap.may_be_unasked = may_be_unasked;
  gaps.push_back(state_.placed(gap));
}

/// `packet` skips the PSNs from `first` to the one before `end` in the answer that it goes on with.
void RepeatedAnswer::add_gap(const CapturedPacket& packet, Sequence first, Sequence end) {
  if (first < end) state_.add(state_.placed(gap_in_repetition(packet, first, end)));
}

/// The requester asks again from the response on with which a repeated answer would go on, and
/// which did not come in a timer's time: what is missing of that answer was lost.
void RepeatedAnswer::report_rest(const Sent& request, Sequence from) {
  if (from != next_ || first_ < request.psn || first_ >= from ||
      stamp_difference(request.last_stamp, begin_) < kShortestTimer)
    return;
  first_ = from;
  state_.report_lost({.first = from,
                      .packets = request.asked_end() - from,
                      .frame = request.last_frame,
                      .stamp = request.last_stamp});
}

}  // namespace lw::analysis
