// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>

#include "analysis/anomaly.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// Which answer a requester took for each request: the one that completed the message. An answer
/// that passed the capture point may have been lost behind it, or discarded: a request that is
/// repeated later than its sender would have got the answer has not taken it, nor has a SEND or
/// WRITE whose ACK came before a READ or atomic in front of it was complete (IBTA vol. 1,
/// 9.7.5.1.1). The next answer to it, or to a later request, completes it.
class TakenAnswers {
 public:
  /// Processes a request that is sent again at `stamp`, before that is noted in it. `round_trip`:
  /// from the capture point to its sender and back; nothing: not known. `may_be_early`: its timer
  /// may be shorter than the round trip.
  void note_repeated(Sent& request, Instant stamp, std::optional<Duration> round_trip,
                     bool may_be_early) noexcept {
    if (!request.answered && !request.crossed) return;
    const bool lost =
        stamp_difference(stamp, request.response_stamp) > round_trip.value_or(Duration{});
    request.unclear |= !round_trip && may_be_early;
    if (request.fetches)
      request.crossed = !lost;
    else if (lost)
      wait(request);
  }
  /// Processes a READ or atomic that was completed behind answers to later requests, which are
  /// those before `end`.
  void note_completed(SentLog& log, const Sent& request, Sequence end) {
    log.for_each(request.psn + request.span, end, [this](Sent& sent) {
      if (sent.answered && !sent.fetches) wait(sent);
    });
  }
  /// Whether requests wait for another answer.
  [[nodiscard]] bool any_wait() const noexcept { return first_ < end_; }
  /// Processes an answer to the requests before `end`.
  void take(SentLog& log, const CapturedPacket& answer, Sequence end) {
    if (end <= first_) return;
    log.for_each(first_, std::min(end, end_), [&answer](Sent& sent) {
      if (!sent.untaken) return;
      sent.untaken = false;
      sent.response_frame = answer.number;
      sent.response_stamp = answer.stamp;
    });
    first_ = end;
  }
  /// Returns the completion of the next request, in the order of their PSNs; nothing: its answer
  /// was not seen, or nobody can tell which one it was. One that was answered before another in
  /// front of it was complete waits for that.
  [[nodiscard]] std::optional<Message::Completion> completion_of(const Sent& request) noexcept {
    if (!request.answered && !request.crossed) return std::nullopt;
    // A sender that has discarded its ACK, and gets no other one, repeats it.
    const bool waits = request.untaken && request.last_stamp > request.response_stamp;
    if (waits || request.unclear) unclear_until_ = std::max(unclear_until_, request.response_stamp);
    if (request.response_stamp > newest_.stamp)
      newest_ = {request.response_frame, request.response_stamp};
    if (waits || newest_.stamp <= unclear_until_) return std::nullopt;
    return newest_;
  }

 private:
  void wait(Sent& request) noexcept {
    request.untaken = true;
    first_ = any_wait() ? std::min(first_, request.psn) : request.psn;
    end_ = std::max(end_, request.psn + request.span);
  }

  Sequence first_ = 0, end_ = 0;  // of the requests that wait
  Message::Completion newest_{.frame = 0, .stamp = Instant::min()};
  Instant unclear_until_ = Instant::min();  // when a request was complete at the latest
};

}  // namespace lw::analysis
