// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <vector>

#include "analysis/packet.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// Number of packets that a late one comes behind at most, as far as it is waited for.
inline constexpr std::size_t kLatePackets = 1024;

/// The last packets of one direction that came late, or were repeated to fill a gap. A receiver
/// discards what comes after a missing packet, until that packet comes.
class LatePackets {
 public:
  void add(Sequence psn, Instant stamp) {
    constexpr std::size_t kMost = 512;
    if (packets_.size() == kMost) packets_.erase(packets_.begin());
    packets_.push_back({psn, stamp});
  }

  /// Notes that packets from `first` to the one before `end` were not repeated: they came late.
  void mark_overtaken(Sequence first, Sequence end) noexcept {
    for (Late& late : packets_) late.overtaken |= late.psn >= first && late.psn < end;
  }

  [[nodiscard]] bool has(Sequence psn) const noexcept {
    return std::ranges::any_of(packets_, [psn](const Late& late) { return late.psn == psn; });
  }
  /// Whether a packet came late at `stamp`, and was not repeated.
  [[nodiscard]] bool was_overtaken(Sequence psn, Instant stamp) const noexcept {
    return std::ranges::any_of(packets_, [=](const Late& late) {
      return late.psn == psn && late.overtaken && late.stamp == stamp;
    });
  }
  /// Whether a packet with a lower PSN came after `stamp`, at which `psn` was seen: the receiver
  /// may have discarded it.
  [[nodiscard]] bool has_before(Sequence psn, Instant stamp) const noexcept {
    return std::ranges::any_of(
        packets_, [=](const Late& late) { return late.psn < psn && stamp < late.stamp; });
  }

 private:
  struct Late {
    Sequence psn = 0;
    Instant stamp = {};
    bool overtaken = false;  // late for certain
  };
  std::vector<Late> packets_;
};

}  // namespace lw::analysis
