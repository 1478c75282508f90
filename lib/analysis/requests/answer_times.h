// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/requests/newest_stamps.h"
#include "analysis/requests/quiet_answers.h"
#include "analysis/requests/sent_log.h"
#include "analysis/requests/stream_counts.h"
#include "core/compact_histogram.h"

namespace lw::analysis {

/// Measures when the answers to the requests of a stream come: after a round trip, after a
/// repetition, or after a time without any answer.
class AnswerTimes {
 public:
  /// Round trips, in ns, are added to `counts`, which must outlive the object.
  /// `least_of_host`: the shortest of all connections to the same host; nothing: not known.
  AnswerTimes(StreamCounts& counts, std::optional<Duration> least_of_host) noexcept
      : round_trips_(counts.rtt), undisturbed_(counts.undisturbed), least_of_host_(least_of_host) {}

  /// Learns how long answers of the host take; `least_of_host`: as for the constructor.
  void learn(std::optional<Duration> least_of_host) noexcept { least_of_host_ = least_of_host; }
  /// Begins a response: the calls that follow are about it.
  void begin(Instant stamp) noexcept {
    quiet_ = stamp_difference(stamp, std::exchange(newest_, stamp));
  }
  /// Notes that it is the first one. `joined`: there may have been others before the capture.
  void note_first(bool joined) noexcept { quiet_ = joined ? Duration{} : QuietAnswers::kEver; }
  /// Adds the round trip of a request that is answered, if it was sent once.
  void sample(const Sent& sent, Instant answered) {
    if (sent.copies > 0) return note_answer(sent, answered);
    if (!sent.seen || sent.reused || answered < sent.stamp) return;
    last_round_trip_ = stamp_difference(answered, sent.stamp);
    round_trips_.add(last_round_trip_.count());
    if (is_undisturbed(sent.stamp)) undisturbed_.add(last_round_trip_);
  }
  /// Notes the answer to a request that was sent again: to which transmission is unknown.
  void note_answer(const Sent& sent, Instant answered) {
    if (answered < sent.stamp) return;
    const Duration after = stamp_difference(answered, sent.stamp);
    least_ = std::min(least_.value_or(after), after);
  }
  /// Whether the response came after a longer time without any than those before.
  [[nodiscard]] bool is_after_quiet() const noexcept { return quiet_answers_.is_longer(quiet_); }
  /// Notes such a response, to requests from `first` to `last`, which may be missing. It begins to
  /// answer with `begin`, and ends before `end`.
  void note_after_quiet(Sequence begin, Sequence end, const Sent* first,
                        const Sent* last) noexcept {
    if (first == nullptr || last == nullptr || first->copies > 0 || last->copies > 0) return;
    quiet_answers_.add({begin, end, quiet_, first->stamp}, newest_);
  }
  /// Notes a request with the PSN of an earlier one.
  void note_earlier_psn(Instant stamp) noexcept { earlier_psn_ = std::max(earlier_psn_, stamp); }
  /// Whether no request with an earlier PSN came since `sent`: an answer to what was sent then
  /// waited for no packet that was lost.
  [[nodiscard]] bool is_undisturbed(Instant sent) const noexcept { return sent > earlier_psn_; }
  /// Notes a request that is sent again.
  void note_sent_again(const CapturedPacket& packet, Sequence psn) noexcept {
    quiet_answers_.sent_again(psn);
    if (packet.ack_req) repeated_.add(packet.stamp);
  }

  [[nodiscard]] Instant newest() const noexcept { return newest_; }
  /// The shortest time from here to the responder and back, as far as is known; nothing: no answer
  /// shows it. No answer comes sooner.
  [[nodiscard]] std::optional<Duration> least_round_trip() const noexcept {
    if (round_trips_.count() == 0) return least_of_host_;
    const Duration least{round_trips_.minimum()};
    return std::min(least_of_host_.value_or(least), least);
  }
  /// Whether half of many round trips, or more, are shorter than twice the shortest.
  [[nodiscard]] bool is_steady() const {
    constexpr std::uint64_t kEnough = 16;
    return round_trips_.count() >= kEnough &&
           round_trips_.quantile(0.5) < 2 * round_trips_.minimum();
  }
  [[nodiscard]] Duration last_round_trip() const noexcept { return last_round_trip_; }
  /// From the first transmission of a repeated request; nothing: none was answered.
  [[nodiscard]] std::optional<Duration> least() const noexcept { return least_; }
  /// The longest time without a response that QuietAnswers found until `now`.
  [[nodiscard]] Duration longest_quiet(Instant now) const noexcept {
    return quiet_answers_.longest(now);
  }
  /// Number of repeated requests that came too late before `end` to be answered.
  [[nodiscard]] std::uint64_t unanswered_at(Instant end) const noexcept {
    return repeated_.later_than(end, least_);
  }

 private:
  CompactHistogram& round_trips_;
  UndisturbedTrips& undisturbed_;
  Instant earlier_psn_ = Instant::min();
  std::optional<Duration> least_of_host_;
  Duration last_round_trip_{};
  Instant newest_;    // the newest response
  Duration quiet_{};  // without a response, before it
  QuietAnswers quiet_answers_;
  std::optional<Duration> least_;
  NewestStamps repeated_;  // of requests that were sent again, and ask for an answer
};

}  // namespace lw::analysis
