// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/requester_replay.h"

#include <algorithm>

namespace lw::analysis {

bool PsnRanges::add(Sequence first, Sequence end) {
  constexpr std::size_t kMostRanges = 1024;  // strangers may skip every other response
  const auto from = std::ranges::lower_bound(ranges_, first, {}, &Range::end);
  const auto behind = std::ranges::upper_bound(from, ranges_.end(), end, {}, &Range::first);
  if (from == behind) {
    if (ranges_.size() == kMostRanges) return false;
    ranges_.insert(from, {first, end});
    return true;
  }
  from->first = std::min(from->first, first);
  from->end = std::max(std::prev(behind)->end, end);
  ranges_.erase(from + 1, behind);
  return true;
}

void PsnRanges::remove(Sequence first, Sequence end) {
  const auto from = std::ranges::upper_bound(ranges_, first, {}, &Range::end);
  const auto behind = std::ranges::lower_bound(from, ranges_.end(), end, {}, &Range::first);
  if (from == behind) return;
  const Range before{from->first, first}, rest{end, std::prev(behind)->end};
  auto at = ranges_.erase(from, behind);
  if (rest.first < rest.end) at = ranges_.insert(at, rest);
  if (before.first < before.end) ranges_.insert(at, before);
}

Sequence PsnRanges::end_of(Sequence psn) const noexcept {
  const auto range = std::ranges::upper_bound(ranges_, psn, {}, &Range::end);
  return range != ranges_.end() && range->first <= psn ? range->end : psn;
}

void RequesterReplay::take_ack(SentLog& log, Sequence end, const Message::Completion& at) {
  if (end > next_) advance(log, end, at);
}

void RequesterReplay::take_responses(SentLog& log, const Sent& request, Sequence psn, Sequence end,
                                     const Message::Completion& at) {
  if (request.psn > next_) advance(log, request.psn, at);
  if (end <= next_) return;
  const Sequence from = std::max(psn, next_);
  if (keeps_ && kept_.add(from, end)) return advance(log, next_, at);
  if (from == next_) go_on(log, end, at);
}

/// Takes all up to the first missing response. `acknowledged`: one past the SENDs and WRITEs that
/// the answer acknowledges.
void RequesterReplay::advance(SentLog& log, Sequence acknowledged, const Message::Completion& at) {
  Sequence to = next_;
  while (const Sent* const sent = log.find(to)) {
    const Sequence end = sent->psn + sent->span;
    const bool waits = sent->seen && sent->fetches;
    const Sequence taken = waits ? kept_.end_of(to) : std::max(to, acknowledged);
    to = std::min(taken, end);
    if (to < end) break;
  }
  if (to > next_) go_on(log, to, at);
}

void RequesterReplay::go_on(SentLog& log, Sequence to, const Message::Completion& at) {
  const Sent* const sent = log.find(next_);
  const bool inside = sent != nullptr && !steps_.empty() && steps_.back().end == next_ &&
                      steps_.back().begin >= sent->psn;
  if (!inside) steps_.push_back({.begin = next_, .first = at.stamp, .last = at});
  steps_.back().end = next_ = to;
  steps_.back().last = at;
  if (keeps_) kept_.remove(0, next_);
}

void RequesterReplay::take_back(const Sent& request, Sequence psn, Sequence end) {
  kept_.remove(psn, end);
  if (psn >= next_) return;
  if (keeps_ && end < next_) kept_.add(end, next_);
  next_ = psn;
  if (keeps_) kept_.remove(psn, std::min(end, request.psn + request.span));
  while (!steps_.empty() && steps_.back().end > psn) {
    Step& last = steps_.back();
    if (last.begin < psn) {
      last.end = psn;
      return;
    }
    steps_.pop_back();
  }
}

void RequesterReplay::forget(Sequence end) {
  next_ = std::max(next_, end);
  while (!steps_.empty() && steps_.front().end <= end) steps_.pop_front();
}

const RequesterReplay::Step* RequesterReplay::step_of(Sequence psn) const noexcept {
  const auto step = std::ranges::upper_bound(steps_, psn, {}, &Step::end);
  return step != steps_.end() && step->begin <= psn ? &*step : nullptr;
}

std::optional<Instant> RequesterReplay::taken_at(Sequence psn) const noexcept {
  const Step* const step = step_of(psn);
  if (step == nullptr) return std::nullopt;
  return psn == step->begin ? step->first : step->last.stamp;
}

std::optional<Message::Completion> RequesterReplay::completion_of(Sequence end) const noexcept {
  const Step* const step = step_of(end - 1);
  if (step == nullptr) return std::nullopt;
  return step->last;
}

}  // namespace lw::analysis
