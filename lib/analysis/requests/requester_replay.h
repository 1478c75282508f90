// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "analysis/anomaly.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// PSNs in ascending order, as ranges.
class PsnRanges {
 public:
  /// Adds the PSNs from `first` to the one before `end`. Returns false if they would need more
  /// ranges than a replay keeps: then they are not added.
  bool add(Sequence first, Sequence end);
  /// Removes the PSNs from `first` to the one before `end`.
  void remove(Sequence first, Sequence end);
  /// One past the range that contains `psn`; `psn` itself: none contains it.
  [[nodiscard]] Sequence end_of(Sequence psn) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  void clear() noexcept { ranges_.clear(); }

 private:
  struct Range {
    Sequence first = 0, end = 0;
  };
  std::vector<Range> ranges_;
};

/// A requester that gets the answers which a capture holds: which one of them completed each of its
/// requests. It takes answers in order. An answer to a request behind a READ or atomic that is not
/// complete acknowledges those before that only. (IBTA vol. 1, 9.7.5.1.1)
class RequesterReplay {
 public:
  /// What it does with READ responses behind a missing one.
  enum class Behind { discards, keeps };

  explicit RequesterReplay(Behind behind) noexcept : keeps_(behind == Behind::keeps) {}

  /// Begins: all before `next` were taken.
  void begin(Sequence next) noexcept {
    next_ = next;
    kept_.clear();
  }
  /// Takes an acknowledgement of the SENDs and WRITEs before `end`.
  void take_ack(SentLog& log, Sequence end, const Message::Completion& at);
  /// Takes the responses from `psn` to the one before `end` to `request`, a READ or atomic.
  void take_responses(SentLog& log, const Sent& request, Sequence psn, Sequence end,
                      const Message::Completion& at);
  /// The answers to `request` from `psn` to the one before `end` have not reached the requester: it
  /// asked for them again.
  void take_back(const Sent& request, Sequence psn, Sequence end);
  /// Requests before `end` leave the log.
  void forget(Sequence end);

  /// The first PSN whose answer it has not taken.
  [[nodiscard]] Sequence next() const noexcept { return next_; }
  /// Whether it holds responses behind a missing one.
  [[nodiscard]] bool keeps_any() const noexcept { return !kept_.empty(); }
  /// Whether it holds the responses from `psn` to the one before `end`, or has taken them.
  [[nodiscard]] bool has(Sequence psn, Sequence end) const noexcept {
    return end <= next_ || kept_.end_of(std::max(psn, next_)) >= end;
  }
  /// When the answer to `psn` came that it has taken; nothing: before the replay began.
  [[nodiscard]] std::optional<Instant> taken_at(Sequence psn) const noexcept;
  /// The answer with which it had taken all PSNs before `end`; nothing: before the replay began.
  /// Requires end <= next().
  [[nodiscard]] std::optional<Message::Completion> completion_of(Sequence end) const noexcept;

 private:
  /// PSNs that were taken with one answer, or, inside a READ, with answers in a row.
  struct Step {
    Sequence begin = 0, end = 0;
    Instant first;  // the first of these answers
    Message::Completion last;
  };

  void advance(SentLog& log, Sequence acknowledged, const Message::Completion& at);
  void go_on(SentLog& log, Sequence to, const Message::Completion& at);
  [[nodiscard]] const Step* step_of(Sequence psn) const noexcept;

  bool keeps_;
  Sequence next_ = 0;
  PsnRanges kept_;
  std::deque<Step> steps_;  // in ascending order; none is longer than the log
};

}  // namespace lw::analysis
