// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <optional>

#include "analysis/anomaly.h"
#include "analysis/requests/keep_evidence.h"
#include "analysis/requests/requester_replay.h"
#include "analysis/requests/sent_log.h"
#include "analysis/requests/taken_answers.h"

namespace lw::analysis {

/// A requester that is replayed twice, as its answers did not follow each other: one replay keeps
/// READ responses behind a missing one, the other discards them. What it sends again shows which
/// of them it is, and which answers were lost behind the capture point.
class ReplayedRequester {
 public:
  using Repeated = TakenAnswers::Repeated;
  using Row = TakenAnswers::Row;
  /// The completion of a request.
  struct Outcome {
    std::optional<Message::Completion> at;
    bool unclear = false;  // nobody can tell; it was complete then
  };

  /// Begins: all before `next` were taken.
  void begin(Sequence next) noexcept;
  /// As in TakenAnswers.
  void note_answer(SentLog& log, const Row& answer);
  void note_repeated(SentLog& log, Sent& request, const Repeated& repeated);
  void note_new(Sequence psn, Instant stamp, Duration to_react, Sequence acknowledged);
  void finish(Instant end, Duration to_react) { evidence_.finish(replays_, end, to_react); }
  /// Whether it has taken all answers up to the one before `acknowledged`, whatever it does. Then
  /// it forgets those that may be on their way.
  [[nodiscard]] bool has_taken_all(Sequence acknowledged) noexcept;
  /// The completion of a request. `discards`: as in TakenAnswers; `goes_on`: not all answers were
  /// taken.
  [[nodiscard]] Outcome outcome_of(const Sent& request, bool discards, bool goes_on) const;
  /// A request leaves the log.
  void forget(const Sent& request);

  /// The completion of a request whose answers followed each other.
  [[nodiscard]] static Outcome passed(const Sent& request) noexcept;

 private:
  void note_row(SentLog& log, const Row& answer);
  static void replay_row(RequesterReplay& replay, SentLog& log, const Row& row, Sequence from);
  /// What a repetition shows of the answer to its first PSN in one replay.
  enum class Answer { none, lost, taken, unclear };
  Answer take_back(RequesterReplay& replay, bool keeps, SentLog& log, Sent& request,
                   const Repeated& repeated);
  void take_rows(RequesterReplay& replay, SentLog& log, Instant after);
  [[nodiscard]] Answer answer_to(const RequesterReplay& replay, bool keeps, const Sent& request,
                                 const Repeated& repeated) const noexcept;
  [[nodiscard]] bool was_asked(const Repeated& repeated, Instant taken) const noexcept;
  void note_unclear(Sequence first, Sequence end) noexcept;
  [[nodiscard]] bool is_unclear(const Sent& request) const noexcept;
  [[nodiscard]] Outcome outcome_of(const RequesterReplay& replay, const Sent& request,
                                   bool goes_on) const;

  KeepEvidence::Replays replays_;
  KeepEvidence evidence_;
  std::deque<Row> rows_;  // the newest, oldest first: they may be on their way to the requester
  // The newest hole that the second replay waited at, and when a response showed it.
  Sequence hole_ = 0;
  Instant hole_stamp_;
  std::uint64_t newest_answer_ = 0;  // the frame that note_answer() has processed
  // Requests that were answered when one was repeated, and nobody can tell why: they end in here.
  Sequence unclear_first_ = 0, unclear_end_ = 0;
  bool lacks_response_ = false;  // a READ has left the log that neither replay has completed
};

}  // namespace lw::analysis
