// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "analysis/packet.h"

namespace lw::analysis {

/// A PSN without wrap-around.
using Sequence = std::uint64_t;

/// A request packet, or PSNs that were skipped.
struct Sent {
  Sequence psn = 0;
  std::uint32_t span = 1;  // PSNs: those of its response, for a READ; of a gap, all
  bool seen = false;       // false: a gap
  std::uint8_t opcode = 0;
  bool ack_req = false;
  bool answered = false;                    // an ATOMIC ACK, or all of a READ's response
  bool asked_again = false;                 // since then responses may come again
  std::uint64_t frame = 0, last_frame = 0;  // first and last seen; of a gap, what showed it
  Instant stamp = {}, last_stamp = {};
  std::uint64_t va = 0;
  std::uint32_t payload = 0, dma_length = 0, r_key = 0, immediate = 0;
  bool has_reth = false, has_immediate = false;
  std::uint16_t ip_id = 0;
  std::uint32_t copies = 0;     // times that it was seen again
  Sequence last_psn = 0;        // of the last time: a READ may ask for the rest of its response
  std::uint32_t responses = 0;  // of a READ: PSNs of its response up to the newest
  std::uint64_t response_frame = 0;  // the last one, the answer to an atomic, the ACK
  Instant response_stamp = {};
};

/// The requests of one direction in the order of their PSNs, without holes: those that wait for
/// an answer, and some that have it.
class SentLog {
 public:
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] Sequence front_psn() const noexcept { return entries_.front().psn; }
  /// The entry that covers `psn`; null where the log doesn't reach.
  [[nodiscard]] Sent* find(Sequence psn) noexcept;
  void push(const Sent& sent) { entries_.push_back(sent); }
  /// Puts a gap in front of all. It waits if all others do; returns whether.
  bool push_front(const Sent& gap) {
    entries_.push_front(gap);
    if (retired_ == 0) return true;
    ++retired_;
    return false;
  }

  /// Puts a packet into a gap, which is split around it. `sent.span` is cut to the gap's rest.
  /// Returns the new entry.
  Sent& fill(Sent sent);

  /// The entries that wait, oldest first.
  [[nodiscard]] std::size_t waiting() const noexcept { return entries_.size() - retired_; }
  [[nodiscard]] Sent& oldest_waiting() noexcept { return entries_[retired_]; }
  [[nodiscard]] const Sent& newest() const noexcept { return entries_.back(); }
  /// The oldest that waits no longer does. Keeps the last `kept` of those, so that copies of them
  /// are recognised.
  void retire(std::size_t kept) noexcept {
    ++retired_;
    for (; retired_ > kept; --retired_) entries_.pop_front();
  }

  /// Calls take(entry) for the entries that begin in [first, end), in order.
  template <class Take>
  void for_each(Sequence first, Sequence end, Take take) {
    for (auto at = behind(first - 1); at != entries_.end() && at->psn < end; ++at) take(*at);
  }

 private:
  /// The first entry that begins behind `psn`. Entries have no holes, and most have one PSN: the
  /// distance from the newest is a bound of the place, and mostly the place.
  [[nodiscard]] std::deque<Sent>::iterator behind(Sequence psn) noexcept;

  std::deque<Sent> entries_;
  std::size_t retired_ = 0;
};

}  // namespace lw::analysis
