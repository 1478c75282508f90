// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/histogram.h"

namespace lw::gen {

/// Loss and order counters of one stream, in packets; in a stream followed by PSNs, in PSNs (a lost
/// READ REQUEST counts as many as it asked for).
struct OrderCounts {
  std::uint64_t lost = 0;           // skipped and not received since
  std::uint64_t duplicated = 0;     // received again: copied on the way or, with PSNs, resent
  std::uint64_t out_of_order = 0;   // late, for the first time (RFC 4737)
  std::uint64_t retransmitted = 0;  // PSNs: filled a gap by go-back-N; the gap stays counted lost
  std::uint64_t beyond_window = 0;  // too far behind to be classified
  std::uint64_t restarts = 0;       // times that the sender began anew
  std::unique_ptr<Histogram> extents;  // RFC 4737, 4.2.2; null until a packet is out of order

  /// Counts a late packet with its reordering extent, in arrivals.
  void add_late(std::uint64_t extent) {
    ++out_of_order;
    if (!extents) extents = std::make_unique<Histogram>();
    extents->add(static_cast<std::int64_t>(extent));
  }
};

/// Classification of one arrival.
struct Arrival {
  enum class Kind : std::uint8_t {
    in_order,       // the expected number
    ahead,          // greater: `missing` numbers were skipped
    late,           // smaller and new: reordered (RFC 4737, 3.3), `extent` arrivals too late
    duplicate,      // received before
    beyond_window,  // more than kWindow behind: late or duplicate is unknown
  };
  Kind kind = Kind::in_order;
  std::uint64_t missing = 0;
  std::uint64_t extent = 0;
};

/// Classifies the arrivals of one stream of sequence numbers, each used once by the sender.
///
/// Loss, duplication and order are exact if no number arrives more than kWindow behind the newest.
/// The number of lost packets is the sum of `missing` minus the late arrivals; the caller adds
/// them up. Of several copies the first to arrive counts, the others are duplicates (RFC 4737, 3.3)
/// and don't count as arrivals in extents. The reordering extent of an arrival is its distance, in
/// arrivals, from the earliest arrival with a greater number (4.2.2).
///
/// An in-order stream costs one comparison and one addition and allocates nothing; the first
/// irregularity allocates a bitmap of kWindow bits and a list of gaps.
class SequenceTracker {
 public:
  static constexpr std::uint64_t kWindow = 65536;

  /// `next` is the first expected number. With `joined` it is only the first that was seen: smaller
  /// numbers may still arrive, as late ones, and the numbers between them are missing.
  explicit SequenceTracker(std::uint64_t next = 0, bool joined = false) noexcept
      : next_(next), floor_(next), joined_(joined) {}

  [[nodiscard]] std::uint64_t next() const noexcept { return next_; }

  /// Classifies the next arrival.
  Arrival take(std::uint64_t number) {
    if (number != next_ || past_ != nullptr) [[unlikely]]
      return take_irregular(number);
    ++next_;
    ++arrivals_;
    return {};
  }

  /// Marks the numbers below `next` as received: one arrival stands for several packets. No effect
  /// if `next` is not ahead.
  void pass(std::uint64_t next);

 private:
  struct Gap {
    std::uint64_t first, last;  // skipped numbers
    std::uint64_t passed_by;    // index of the arrival that skipped them
  };
  struct Past {
    std::vector<std::uint64_t> seen = std::vector<std::uint64_t>(kWindow / 64);
    std::deque<Gap> gaps;  // rising
  };

  Arrival take_irregular(std::uint64_t number);
  Arrival take_behind(std::uint64_t number);
  Arrival take_below_floor(std::uint64_t number);
  void remember();
  void mark(std::uint64_t number, bool seen) noexcept;
  void mark(std::uint64_t first, std::uint64_t end, bool seen) noexcept;
  [[nodiscard]] bool was_seen(std::uint64_t number) const noexcept;
  [[nodiscard]] std::uint64_t passed_by(std::uint64_t number) const noexcept;

  std::uint64_t next_;
  std::uint64_t floor_;  // the smallest number that counts
  std::uint64_t arrivals_ = 0;
  bool joined_;
  std::unique_ptr<Past> past_;
};

}  // namespace lw::gen
