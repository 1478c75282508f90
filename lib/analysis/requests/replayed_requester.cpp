// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/replayed_requester.h"

#include <algorithm>
#include <utility>

namespace lw::analysis {

void ReplayedRequester::begin(Sequence next) noexcept {
  replays_.discards.begin(next);
  replays_.keeps.begin(next);
  hole_ = 0;
  lacks_response_ = false;
}

void ReplayedRequester::note_answer(SentLog& log, const Row& answer) {
  if (std::exchange(newest_answer_, answer.last.frame) == answer.last.frame) return;
  note_row(log, answer);
  RequesterReplay& keeps = replays_.keeps;
  replay_row(replays_.discards, log, answer, answer.psn);
  replay_row(keeps, log, answer, answer.psn);
  if (keeps.keeps_any() && keeps.next() != hole_) {
    hole_ = keeps.next();
    hole_stamp_ = answer.first;
  }
  const Sent* const missing = log.find(replays_.discards.next());
  if (missing != nullptr && missing->seen && missing->fetches &&
      answer.psn >= missing->psn + missing->span)
    evidence_.note_behind(answer.first);
}

/// Gives a replay the answers of a row; of responses, those from `from` on.
void ReplayedRequester::replay_row(RequesterReplay& replay, SentLog& log, const Row& row,
                                   Sequence from) {
  if (!row.responds) return replay.take_ack(log, row.end, row.last);
  if (const Sent* const request = log.find(from))
    replay.take_responses(log, *request, from, row.end, row.last);
}

void ReplayedRequester::note_row(SentLog& log, const Row& answer) {
  constexpr std::size_t kMostRows = 128;
  if (answer.responds && !rows_.empty()) {
    Row& newest = rows_.back();
    const Sent* const request = log.find(answer.psn);
    if (newest.responds && newest.end == answer.psn && request != nullptr &&
        newest.psn >= request->psn) {
      newest.end = answer.end;
      newest.last = answer.last;
      return;
    }
  }
  if (rows_.size() == kMostRows) rows_.pop_front();
  rows_.push_back(answer);
}

bool ReplayedRequester::has_taken_all(Sequence acknowledged) noexcept {
  const RequesterReplay &discards = replays_.discards, &keeps = replays_.keeps;
  if (discards.next() != keeps.next() || keeps.keeps_any() || keeps.next() < acknowledged)
    return false;
  evidence_.note_none_missing();
  rows_.clear();
  return true;
}

/// Whether a requester that keeps responses decided to repeat a request before an answer to it
/// passed at `taken`: a NAK or a hole had shown that it was missing.
bool ReplayedRequester::was_asked(const Repeated& repeated, Instant taken) const noexcept {
  const auto is_reason = [&](Instant shown) {
    return shown <= taken && stamp_difference(repeated.stamp, shown) <= repeated.to_react;
  };
  return (repeated.asked && is_reason(*repeated.asked)) ||
         (hole_ == repeated.psn && is_reason(hole_stamp_));
}

/// Whether the answer to `repeated.psn` passed, and was lost behind the capture point: its sender
/// asks for it again later than it would have got the answer. No timer expires while the responses
/// to a READ come, so a response that is asked for inside them was lost.
ReplayedRequester::Answer ReplayedRequester::answer_to(const RequesterReplay& replay, bool keeps,
                                                       const Sent& request,
                                                       const Repeated& repeated) const noexcept {
  if (!replay.has(repeated.psn, repeated.psn + 1)) return Answer::none;
  const Instant first = request.stamp + Duration{request.until_response};
  const Instant taken =
      replay.taken_at(repeated.psn).value_or(request.fetches ? first : request.response_stamp);
  if (keeps && was_asked(repeated, taken)) return Answer::taken;
  // A requester that keeps responses repeats a whole READ for any of them when it goes back.
  const bool follows = keeps && repeated.psn == request.psn && repeated.stamp > repeated.begin;
  if (follows && !replay.has(request.psn, request.psn + request.span)) return Answer::none;
  if (repeated.psn > request.psn) return Answer::lost;
  if (repeated.is_unclear(taken)) return Answer::unclear;
  return taken <= repeated.sees_until() ? Answer::lost : Answer::taken;
}

/// Takes the answer to a repeated request back, if it was lost; what passed later is on its way.
ReplayedRequester::Answer ReplayedRequester::take_back(RequesterReplay& replay, bool keeps,
                                                       SentLog& log, Sent& request,
                                                       const Repeated& repeated) {
  const Answer answer = answer_to(replay, keeps, request, repeated);
  if (answer != Answer::lost) return answer;
  const bool to_end = repeated.end == request.psn + request.span;
  if (keeps && to_end && repeated.end > repeated.psn + 1) request.unclear_if_kept = true;
  replay.take_back(request, repeated.psn, repeated.end);
  take_rows(replay, log, repeated.sees_until());
  return answer;
}

/// Gives a replay once more the answers that passed later than `after`. Those of a row came at even
/// times.
void ReplayedRequester::take_rows(RequesterReplay& replay, SentLog& log, Instant after) {
  for (const Row& row : rows_) {
    if (row.last.stamp <= after) continue;
    const Duration time = stamp_difference(row.last.stamp, row.first);
    const Duration before = stamp_difference(after, row.first);
    const double share =
        row.responds && before > Duration{} && time > Duration{}
            ? static_cast<double>(before.count()) / static_cast<double>(time.count())
            : 0;
    const auto taken = static_cast<Sequence>(share * static_cast<double>(row.end - row.psn));
    replay_row(replay, log, row, row.psn + taken);
  }
}

void ReplayedRequester::note_repeated(SentLog& log, Sent& request, const Repeated& repeated) {
  if (!request.fetches) {
    evidence_.note_repeated(replays_, repeated.psn);
  } else {
    evidence_.note_repeated(replays_,
                            {.request = &request,
                             .psn = repeated.psn,
                             .end = repeated.end,
                             .newest = repeated.newest,
                             .stamp = repeated.stamp,
                             .by_nak = repeated.by_nak,
                             .by_timer = repeated.by_timer,
                             .answered = request.response_stamp <= repeated.sees_until()});
  }
  const bool was_answered = request.answered || request.crossed;
  const Answer answers[] = {take_back(replays_.discards, false, log, request, repeated),
                            take_back(replays_.keeps, true, log, request, repeated)};
  request.crossed = request.fetches && was_answered && std::ranges::any_of(answers, [](Answer one) {
                      return one == Answer::taken || one == Answer::unclear;
                    });
  if (std::ranges::find(answers, Answer::unclear) != std::end(answers))
    note_unclear(repeated.psn, std::max(replays_.discards.next(), replays_.keeps.next()));
}

void ReplayedRequester::note_new(Sequence psn, Instant stamp, Duration to_react,
                                 Sequence acknowledged) {
  if (!evidence_.note_new(replays_, psn, stamp, to_react)) begin(acknowledged);
}

void ReplayedRequester::note_unclear(Sequence first, Sequence end) noexcept {
  unclear_first_ = unclear_end_ > first ? std::min(unclear_first_, first) : first;
  unclear_end_ = std::max(unclear_end_, end);
}

bool ReplayedRequester::is_unclear(const Sent& request) const noexcept {
  const Sequence end = request.psn + request.span;
  return end > unclear_first_ && end <= unclear_end_;
}

ReplayedRequester::Outcome ReplayedRequester::passed(const Sent& request) noexcept {
  if (!request.answered && !request.crossed) return {};
  return {.at = Message::Completion{request.response_frame, request.response_stamp}};
}

/// The completion of a request in one replay.
ReplayedRequester::Outcome ReplayedRequester::outcome_of(const RequesterReplay& replay,
                                                         const Sent& request, bool goes_on) const {
  const Sequence end = request.psn + request.span;
  if (goes_on && end > replay.next()) {
    // Its ACK came before the READ in front of it was complete. A sender that discards such an ACK,
    // and gets no other one, repeats the request.
    const bool takes = !request.fetches && request.last_stamp <= request.response_stamp &&
                       request.psn <= replay.next() && !lacks_response_;
    return takes ? passed(request) : Outcome{};
  }
  if (const auto at = replay.completion_of(end)) return {.at = at};
  return passed(request);
}

ReplayedRequester::Outcome ReplayedRequester::outcome_of(const Sent& request, bool discards,
                                                         bool goes_on) const {
  Outcome discarded = outcome_of(replays_.discards, request, goes_on);
  Outcome kept = outcome_of(replays_.keeps, request, goes_on);
  discarded.unclear = is_unclear(request);
  kept.unclear = discarded.unclear || request.unclear_if_kept;
  auto keeps = evidence_.keeps();
  if (!keeps && discards) keeps = false;
  if (keeps) return *keeps ? kept : discarded;
  if (!discarded.at) return {};
  discarded.unclear = kept.unclear || !kept.at || kept.at->frame != discarded.at->frame;
  return discarded;
}

void ReplayedRequester::forget(const Sent& request) {
  const Sequence end = request.psn + request.span;
  lacks_response_ |= request.seen && request.fetches && replays_.keeps.next() < end;
  replays_.discards.forget(end);
  replays_.keeps.forget(end);
}

}  // namespace lw::analysis
