// SPDX-License-Identifier: BSD-3-Clause
// The receiving side of a requester: what is acknowledged is done. In a header, because a
// simulation is little else than this and its counterparts; what else answers may mean is in
// requester_answers.cpp.
#pragma once

#include <algorithm>

#include "transport/credits.h"
#include "transport/requester.h"
#include "wire/aeth.h"

namespace lw::transport {

inline wire::AethKind kind_of(std::uint8_t syndrome) noexcept {
  return static_cast<wire::AethKind>(syndrome >> wire::Aeth::kKindShift & 3);
}

inline void Requester::receive(const Packet& packet, Instant now) {
  if (broken_ || !reliable()) return;
  const std::int32_t ahead = wire::Psn::distance(psn_of(una_), packet.psn);
  if (ahead < 0) {
    ++counters_.ghosts;
    return;
  }
  const Sequence s = una_ + static_cast<std::uint32_t>(ahead);
  if (s >= high_) {
    ++counters_.bad_answers;
    return;
  }
  const bool ack = meaning_of(packet.opcode).operation == wire::Operation::ack &&
                   kind_of(packet.syndrome) == wire::AethKind::ack;
  ack ? on_ack(packet, s, now) : on_other(packet, s, now);
}

inline void Requester::on_ack(const Packet& packet, Sequence s, Instant now) {
  if (config_.end_to_end_credits) take_credits(packet);
  if (!acknowledge(s + 1, now)) lost_answer(now);
}

/// Moves to `up_to`, but never past a READ or an atomic: only their data completes them. Whether
/// it got there.
inline bool Requester::acknowledge(Sequence up_to, Instant now) {
  const Sequence before = una_;
  Sequence una = before;
  while (una < up_to && !queue_.front().fetches) {
    const Sequence end = queue_.front().end();
    una = std::min(up_to, end);
    if (una == end) complete(Status::success, now);
  }
  una_ = una;
  if (una != before) progressed(now);
  return una >= up_to;
}

inline void Requester::progressed(Instant now) {
  retries_left_ = config_.retry_count;
  rnr_left_ = config_.rnr_retry;
  if (timed_at_ != kNever && una_ > timed_) {
    timer_.measured(now - timed_at_);
    timed_at_ = kNever;
  }
  timer_.progressed();
  retry_at_ = una_ < high_ && rnr_until_ == kNever ? timer_.from(now) : kNever;
  if (!usual_) forget_resends();
  if (cursor_ < una_) {  // what was to be sent again has arrived after all
    cursor_ = una_;
    cursor_wqe_ = 0;
    known_ready_ = false;
  }
}

/// The oldest request ends.
inline void Requester::complete(Status status, Instant now, std::uint64_t original) {
  const Wqe& wqe = queue_.front();
  Completion& done = completions_.add();  // field by field: a copy would wait for their stores
  done.id = wqe.request.id;
  done.at = now;
  done.posted = wqe.posted;
  done.length = wqe.request.length;
  done.original = original;
  done.operation = wqe.request.operation;
  done.status = status;
  if (begun_ > 0) {
    --begun_;
    if (wqe.fetches) --fetching_;
  }
  if (cursor_wqe_ > 0) --cursor_wqe_;
  queue_.pop();
}

}  // namespace lw::transport
