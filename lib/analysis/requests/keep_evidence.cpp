// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/keep_evidence.h"

namespace lw::analysis {

/// A packet with `psn` comes behind a READ that was repeated. A requester that discards responses
/// goes on with the next request, unless its answer has come meanwhile.
void KeepEvidence::end_row(const Replays& replays, Sequence psn) {
  const Sequence expected = std::exchange(row_end_, 0);
  if (expected != 0 && psn > expected && replays.discards.next() < expected) ++for_keeping_;
}

void KeepEvidence::note_repeated(const Replays& replays, const Repeated& repeated) {
  const bool in_row = row_end_ == repeated.psn;
  end_row(replays, repeated.psn);
  behind_.reset();
  const Sequence end = repeated.request->psn + repeated.request->span;
  if (repeated.end < end) {
    ++for_keeping_;
    return;
  }
  // One that keeps responses repeats all that it lacks a part of when its timer expires.
  const Sequence known = repeated.by_timer ? repeated.end : repeated.psn + 1;
  if (in_row && repeated.answered && replays.keeps.has(repeated.psn, known)) ++for_discarding_;
  if (end >= repeated.newest || repeated.by_nak) return;
  row_end_ = end;
  row_stamp_ = repeated.stamp;
}

bool KeepEvidence::note_new(const Replays& replays, Sequence psn, Instant stamp,
                            Duration to_react) {
  end_row(replays, psn);
  if (!behind_ || stamp_difference(stamp, *behind_) <= to_react) return true;
  behind_ = stamp;
  if (replays.keeps.next() == replays.discards.next()) return false;
  ++for_keeping_;
  return true;
}

void KeepEvidence::finish(const Replays& replays, Instant end, Duration to_react) {
  const bool stuck = behind_ && stamp_difference(end, *behind_) > to_react;
  if (stuck && replays.keeps.next() > replays.discards.next()) ++for_keeping_;
  if (stamp_difference(end, row_stamp_) > to_react) end_row(replays, ~Sequence{0});
}

}  // namespace lw::analysis
