// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "analysis/packet.h"
#include "analysis/requests/requester_replay.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// What shows whether a requester keeps READ responses behind a missing one, or discards
/// them: which requests it sends again. One that discards them asks for all from the missing one
/// on, and repeats the requests behind it, before it sends new ones. One that keeps them asks for
/// what is missing.
class KeepEvidence {
 public:
  /// A replay of each.
  struct Replays {
    RequesterReplay discards{RequesterReplay::Behind::discards};
    RequesterReplay keeps{RequesterReplay::Behind::keeps};
  };
  /// A READ or atomic that is sent again.
  struct Repeated {
    const Sent* request = nullptr;
    Sequence psn = 0, end = 0;  // what it asks for
    Sequence newest = 0;        // one past the highest PSN sent
    Instant stamp = {};
    bool by_nak = false;    // a NAK asked for it
    bool by_timer = false;  // a timer made its sender repeat it
    bool answered = false;  // what passed of its response has reached the requester, or was lost
  };

  /// Processes a request that is sent again, before the replays know it.
  void note_repeated(const Replays& replays, const Repeated& repeated);
  /// Processes a SEND or WRITE that is sent again.
  void note_repeated(const Replays& replays, Sequence psn) { end_row(replays, psn); }
  /// Processes a new request, which has `psn`. `to_react`: the requester has answered what came
  /// longer ago. Returns false if neither of the two would send it: the response that both lack
  /// has reached the requester, and the capture lacks it.
  [[nodiscard]] bool note_new(const Replays& replays, Sequence psn, Instant stamp,
                              Duration to_react);
  /// Processes an answer to a request behind a READ that is not complete in the first replay.
  void note_behind(Instant stamp) noexcept {
    if (!behind_) behind_ = stamp;
  }
  /// The requester has taken all answers of the capture.
  void note_none_missing() noexcept {
    behind_.reset();
    row_end_ = 0;
  }
  /// Processes the end of the capture.
  void finish(const Replays& replays, Instant end, Duration to_react);

  /// Whether the requester keeps responses; nothing: nothing shows it.
  [[nodiscard]] std::optional<bool> keeps() const noexcept {
    if (for_keeping_ == for_discarding_) return std::nullopt;
    return for_keeping_ > for_discarding_;
  }

 private:
  void end_row(const Replays& replays, Sequence psn);

  std::uint64_t for_keeping_ = 0, for_discarding_ = 0;
  Sequence row_end_ = 0;           // the PSN with which the repetition goes on; 0: none goes on
  Instant row_stamp_;              // when it came
  std::optional<Instant> behind_;  // the first answer that shows a missing response
};

}  // namespace lw::analysis
