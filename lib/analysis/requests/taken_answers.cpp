// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/taken_answers.h"

#include <algorithm>

#include "analysis/requests/replayed_requester.h"

namespace lw::analysis {

TakenAnswers::TakenAnswers() noexcept = default;
TakenAnswers::~TakenAnswers() = default;

Sequence next_of(SentLog& log, Sequence acknowledged) noexcept {
  const Sent* const sent = log.find(acknowledged);
  const bool waits = sent != nullptr && sent->seen && sent->fetches && !sent->answered;
  return waits ? std::max(acknowledged, sent->psn + sent->responses) : acknowledged;
}

void TakenAnswers::begin(Sequence next) {
  if (active_) return;
  if (requester_ == nullptr) requester_ = std::make_unique<ReplayedRequester>();
  requester_->begin(next);
  active_ = true;
}

void TakenAnswers::note_answer(SentLog& log, const Row& answer, Sequence acknowledged) {
  requester_->note_answer(log, answer);
  active_ = !requester_->has_taken_all(acknowledged);
}

void TakenAnswers::note_repeated(SentLog& log, Sent& request, const Repeated& repeated) {
  begin(repeated.next);
  requester_->note_repeated(log, request, repeated);
}

void TakenAnswers::note_new(Sequence psn, Instant stamp, Duration to_react, Sequence acknowledged) {
  requester_->note_new(psn, stamp, to_react, acknowledged);
}

void TakenAnswers::finish(Instant end, Duration to_react) {
  if (active_) requester_->finish(end, to_react);
}

std::optional<Message::Completion> TakenAnswers::forget_replayed(const Sent& request,
                                                                 bool discards) {
  const ReplayedRequester::Outcome outcome = requester_->outcome_of(request, discards, active_);
  requester_->forget(request);
  if (!outcome.at) return std::nullopt;
  if (outcome.unclear) unclear_until_ = std::max(unclear_until_, outcome.at->stamp);
  if (outcome.at->stamp > newest_.stamp) newest_ = *outcome.at;
  if (newest_.stamp <= unclear_until_) return std::nullopt;
  return newest_;
}

}  // namespace lw::analysis
