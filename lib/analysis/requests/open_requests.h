// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// The waits before the repetitions of the packet that a sender repeats.
struct RetryWaits {
  Sequence psn = 0;
  std::uint32_t count = 0;
  Duration shortest{}, longest{};

  /// Notes a repetition of `of`, the first packet of a recovery, after `wait`.
  void add(Sequence of, Duration wait) noexcept {
    if (of != psn || count == 0) *this = {.psn = of, .shortest = wait};
    ++count;
    shortest = std::min(shortest, wait);
    longest = std::max(longest, wait);
  }
};

/// Requests that have no answer at the end of the capture.
struct OpenRequests {
  std::uint32_t psn = 0;      // of the oldest
  std::uint64_t packets = 0;  // PSNs
  std::uint64_t frame = 0, last_frame = 0;
  Instant first = {}, last = {};  // transmission of the oldest, the first one, and the last of all
  RetryWaits waits = {};          // of the oldest; count 0: it was sent once
  std::uint32_t payload = 0;      // bytes, of the oldest
  std::uint32_t largest_answered = 0;  // bytes of payload of those before; 0: none was answered
  bool ever_answered = false;          // other requests were, before
  bool reported = false;               // they were sent long enough before the end of the capture

  [[nodiscard]] Duration span() const noexcept { return stamp_difference(last, first); }
};

}  // namespace lw::analysis
