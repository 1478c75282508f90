// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "analysis/requests/sent_log.h"
#include "analysis/requests/stream_counts.h"

namespace lw::analysis {

/// Finds the numbers of outstanding requests at which a sender stops until it gets an answer.
class SenderLimits {
 public:
  /// Results are added to `counts`, which must outlive the object.
  explicit SenderLimits(StreamCounts& counts) noexcept : counts_(counts) {}

  /// Adds a new request. `outstanding`: PSNs that are not acknowledged, with the request's.
  void add(const Sent& sent, Sequence outstanding) noexcept;
  /// Adds an ACK of a part of the outstanding PSNs, of which there were `outstanding` until then.
  /// An ACK of all says nothing about a limit: the sender may have had no more to send.
  /// `progressed`: time of the request or ACK before; `now`: of this one.
  void add_ack(Sequence outstanding, Instant progressed, Instant now) noexcept;
  /// Call when a READ or atomic is no longer outstanding. `answered`: when its response ended;
  /// nothing: never.
  void retire_read(std::optional<Instant> answered) noexcept {
    if (reads_ > 0) --reads_;
    answered_ = answered;
  }
  /// Shortest time from the end of a response to the next READ or atomic, if the sender waits for
  /// each response: a round trip from the capture point to the sender. Nothing: it does not wait.
  [[nodiscard]] std::optional<Duration> turnaround() const noexcept {
    // Requests in a row may each be answered before the next one comes.
    constexpr Duration kInARow = std::chrono::microseconds{2};
    const bool waits = counts_.most_reads == 1 && turnaround_ && *turnaround_ >= kInARow;
    return waits ? turnaround_ : std::nullopt;
  }

 private:
  StreamCounts& counts_;
  std::uint32_t reads_ = 0;          // READs and atomics that are outstanding
  std::optional<Instant> released_;  // by the ACK of counts_.held; until the next request
  std::optional<Instant> answered_;  // the newest response; until the next READ or atomic
  std::optional<Duration> turnaround_;
};

}  // namespace lw::analysis
