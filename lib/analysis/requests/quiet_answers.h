// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>

#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// Finds the longest time without an answer, before an answer to requests that were sent once. No
/// answer has restarted their sender's timer in that time. A timer that is shorter than this time
/// is longer than the round trip, or it would have sent them again.
class QuietAnswers {
 public:
  /// Of the first answer of a connection.
  static constexpr Duration kEver = Duration::max();

  /// An answer, `quiet` after the one before, to requests that were sent once: those from `first`
  /// to the one before `end`, the first of them at `sent`.
  struct Answer {
    Sequence first = 0, end = 0;
    Duration quiet{};
    Instant sent = {};

    /// What it shows if they are not sent again until `now`.
    [[nodiscard]] Duration shown(Instant now) const noexcept {
      return end == 0 ? Duration{} : std::min(quiet, stamp_difference(now, sent));
    }
  };

  /// Whether an answer may show more than those before.
  [[nodiscard]] bool is_longer(Duration quiet) const noexcept {
    return quiet > newest_.quiet && quiet > longest_;
  }
  void add(const Answer& answer, Instant now) noexcept {
    longest_ = longest(now);
    newest_ = answer;
  }
  /// A sender sends a packet again.
  void sent_again(Sequence psn) noexcept {
    if (psn >= newest_.first && psn < newest_.end) newest_ = {};
  }
  /// The longest time, as far as is known at `now`.
  [[nodiscard]] Duration longest(Instant now) const noexcept {
    return std::max(longest_, newest_.shown(now));
  }

 private:
  Answer newest_;
  Duration longest_{};
};

}  // namespace lw::analysis
