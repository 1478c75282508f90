// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/packet.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// PSNs of READ responses that were skipped.
struct ResponseGap {
  Sequence first = 0;
  std::uint64_t packets = 0;
  std::uint64_t frame = 0;  // the frame that showed it
  Instant stamp = {};
  std::optional<Instant> requested = {};  // for the first time
  bool asked_again = false;               // the requester asked for them again
  bool named = false;                     // from its first PSN on: just these were missing
  bool came_before =
      false;  // they came before, and are missing in the answer to a repeated request
  bool may_be_unasked = false;  // the responder may not have got the request that asked again
  std::uint16_t ip_id = 0;      // of the frame that showed it
  bool in_row = false;          // the responses around it came one after the other

  [[nodiscard]] bool covers(Sequence psn) const noexcept {
    return psn >= first && psn < first + packets;
  }
};

/// The gaps in READ responses that may still be filled, at most kMost.
class ResponseGaps {
 public:
  static constexpr std::size_t kMost = 1024;

  /// Adds a gap. If there were kMost, removes the oldest and returns it: it is final.
  std::optional<ResponseGap> add(const ResponseGap& gap) {
    std::optional<ResponseGap> old;
    if (gaps_.size() >= kMost) {
      old = gaps_.front();
      gaps_.erase(gaps_.begin());
    }
    gaps_.push_back(gap);
    return old;
  }

  /// Returns the first gap that covers `psn`; nothing: none.
  [[nodiscard]] std::optional<ResponseGap> covering(Sequence psn) const {
    const auto gap =
        std::ranges::find_if(gaps_, [psn](const auto& one) { return one.covers(psn); });
    return gap == gaps_.end() ? std::nullopt : std::optional(*gap);
  }

  /// Returns the first gap that begins in [first, end); nothing: none.
  [[nodiscard]] std::optional<ResponseGap> in(Sequence first, Sequence end) const {
    const auto begins = [=](const auto& one) { return one.first >= first && one.first < end; };
    const auto gap = std::ranges::find_if(gaps_, begins);
    return gap == gaps_.end() ? std::nullopt : std::optional(*gap);
  }

  /// Removes a gap, not those of other answers with the same PSNs.
  void remove(const ResponseGap& gap) {
    std::erase_if(gaps_, [&gap](const ResponseGap& one) {
      return one.first == gap.first && one.frame == gap.frame;
    });
  }

  /// Removes `psn` from `gap`, which covers it: two gaps may remain. Calls visit(gap) for one that
  /// is final, as in add().
  template <class Visit>
  void fill(const ResponseGap& gap, Sequence psn, Visit visit) {
    remove(gap);
    ResponseGap rest = gap;
    rest.packets = psn - gap.first;
    const auto add_rest = [&] {
      if (rest.packets == 0) return;
      if (const auto old = add(rest)) visit(*old);
    };
    add_rest();
    rest.first = psn + 1;
    rest.named = false;
    rest.packets = gap.first + gap.packets - rest.first;
    add_rest();
  }

  /// Marks the gaps that begin in [first, end) as asked for again.
  void ask_again(Sequence first, Sequence end) {
    for (ResponseGap& gap : gaps_) {
      gap.asked_again |= gap.first >= first && gap.first < end;
      gap.named |= gap.first == first;
    }
  }

  /// Removes all gaps, and calls visit(gap) for each.
  template <class Visit>
  void close(Visit visit) {
    std::ranges::for_each(gaps_, visit);
    gaps_.clear();
  }

 private:
  std::vector<ResponseGap> gaps_;
};

}  // namespace lw::analysis
