// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/sender_limits.h"

#include <algorithm>

namespace lw::analysis {

void SenderLimits::add(const Sent& sent, Sequence outstanding) noexcept {
  if (sent.fetches) {
    ++reads_;
    ++counts_.reads;
    if (reads_ > counts_.most_reads) {
      counts_.most_reads = reads_;
      counts_.reads_at_most = 0;
    }
    counts_.reads_at_most += reads_ == counts_.most_reads;
    if (answered_ && reads_ == 1) {
      const Duration since = stamp_difference(sent.stamp, *answered_);
      turnaround_ = std::min(turnaround_.value_or(since), since);
    }
    answered_.reset();
    return;
  }
  if (outstanding > counts_.most_outstanding) {
    counts_.most_outstanding = static_cast<std::uint32_t>(outstanding);
    counts_.held = 0;
    counts_.held_before = counts_.held_after = {};
  } else if (released_) {
    const Duration after = stamp_difference(sent.stamp, *released_);
    counts_.held_after += after;
    counts_.least_held_after = std::min(counts_.least_held_after.value_or(after), after);
  }
  released_.reset();
}

void SenderLimits::add_ack(Sequence outstanding, Instant progressed, Instant now) noexcept {
  if (outstanding != counts_.most_outstanding) return;
  ++counts_.held;
  counts_.held_before += now - progressed;
  released_ = now;
}

}  // namespace lw::analysis
