// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "analysis/anomaly.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

class ReplayedRequester;

/// Which answer a requester took for each request: the one that completed the message. As long as
/// all answers follow each other, it is the first. From the first response that is missing, or the
/// first request that is sent again, the requester is replayed: an answer that passed the capture
/// point may have been lost behind it, or discarded.
class TakenAnswers {
 public:
  /// A request that is sent again.
  struct Repeated {
    Sequence psn = 0, end = 0;  // what it asks for
    Sequence next = 0;          // the first PSN whose answer had not passed; see next_of()
    Sequence newest = 0;        // one past the highest PSN sent
    Instant begin;              // of the recovery that it belongs to
    Instant stamp;
    /// From the capture point to its sender and back; nothing: not known.
    std::optional<Duration> round_trip;
    /// From the event that makes its sender repeat a request, at most.
    Duration to_react{};
    bool may_be_early = false;          // its timer may be shorter than the round trip
    bool by_nak = false;                // a NAK asked for it
    bool by_timer = false;              // a timer made its sender repeat it
    std::optional<Instant> asked = {};  // when a NAK named its PSN

    /// What passed here until then has reached its sender, or was lost.
    [[nodiscard]] Instant sees_until() const noexcept {
      return round_trip ? stamp - *round_trip : begin;
    }
    /// Whether nobody can tell if an answer that passed at `taken` reached the requester before.
    /// One that passed since its sender went back was on its way.
    [[nodiscard]] bool is_unclear(Instant taken) const noexcept {
      return !round_trip && may_be_early && taken <= begin;
    }
  };
  /// Answers in a row to one request, or an ACK or NAK.
  struct Row {
    Sequence psn = 0;
    Sequence end = 0;       // one past the last response, or past what is acknowledged
    bool responds = false;  // to a READ or atomic
    Instant first;
    Message::Completion last;
  };

  TakenAnswers() noexcept;
  ~TakenAnswers();

  /// Whether the requester is replayed: then note_answer() and note_new() must be called.
  [[nodiscard]] bool replays() const noexcept { return active_; }
  /// Begins to replay the requester, unless it is replayed: all answers up to the one before `next`
  /// were taken.
  void begin(Sequence next);
  /// Processes an answer, unless it was processed before. `acknowledged`: one past the highest PSN
  /// that was acknowledged. Requires replays().
  void note_answer(SentLog& log, const Row& answer, Sequence acknowledged);
  /// Processes a request that is sent again, before that is noted in it.
  void note_repeated(SentLog& log, Sent& request, const Repeated& repeated);
  /// Processes a new request, which has `psn`. `to_react`: as in Repeated; `acknowledged`: as in
  /// note_answer(). Requires replays().
  void note_new(Sequence psn, Instant stamp, Duration to_react, Sequence acknowledged);
  /// Processes the end of the capture.
  void finish(Instant end, Duration to_react);
  /// A request leaves the log: returns its completion; nothing: its answer was not seen, or nobody
  /// can tell which one it was. Call it in the order of the PSNs. `discards`: how its sender
  /// recovers shows that it discards what comes behind a hole.
  [[nodiscard]] std::optional<Message::Completion> forget(const Sent& request, bool discards) {
    if (requester_ != nullptr) [[unlikely]]
      return forget_replayed(request, discards);
    if (!request.answered) return std::nullopt;
    if (request.response_stamp > newest_.stamp)
      newest_ = {request.response_frame, request.response_stamp};
    return newest_;
  }

 private:
  [[nodiscard]] std::optional<Message::Completion> forget_replayed(const Sent& request,
                                                                   bool discards);

  bool active_ = false;
  std::unique_ptr<ReplayedRequester> requester_;  // null: all answers followed each other
  Message::Completion newest_{.frame = 0, .stamp = Instant::min()};
  Instant unclear_until_ = Instant::min();  // when a request was complete at the latest
};

/// Returns the first PSN whose answer has not passed, if all answers followed each other.
/// `acknowledged`: one past the highest PSN that was acknowledged.
[[nodiscard]] Sequence next_of(SentLog& log, Sequence acknowledged) noexcept;

}  // namespace lw::analysis
