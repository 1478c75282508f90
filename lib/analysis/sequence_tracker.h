// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/histogram.h"
#include "roce/frame.h"

namespace lw::analysis {

/// Loss and order counters of one stream, in packets; in a stream followed by PSNs, in PSNs (a lost
/// READ REQUEST counts as many as it asked for).
struct OrderCounts {
  std::uint64_t lost = 0;           // skipped and not received since
  std::uint64_t duplicated = 0;     // received again: copied on the way or, with PSNs, resent
  std::uint64_t out_of_order = 0;   // late, for the first time (RFC 4737)
  std::uint64_t retransmitted = 0;  // PSNs: filled a gap by go-back-N; the gap still counts as lost
  std::uint64_t beyond_window = 0;  // too far behind to be classified
  std::uint64_t restarts = 0;       // times that the sender started again
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
  Arrival add(std::uint64_t number) {
    if (number != next_ || past_ != nullptr) [[unlikely]]
      return take_irregular(number);
    ++next_;
    ++arrivals_;
    return {};
  }

  /// Marks the numbers below `next` as received: one arrival stands for several packets. No effect
  /// if `next` is not ahead.
  void pass(std::uint64_t next);
  /// Takes back a pass(): the numbers from `next` on have not arrived. No effect if `next` is not
  /// behind.
  void unpass(std::uint64_t next);
  /// Takes back a part of a pass(): the numbers [first, end), all below next(), are missing.
  /// Returns how many of them were marked as received.
  std::uint64_t miss(std::uint64_t first, std::uint64_t end);
  /// Marks the missing numbers in [first, end) as received, and returns how many there were. No
  /// effect on numbers from next() on, and on those that are too far behind.
  std::uint64_t fill(std::uint64_t first, std::uint64_t end);

 private:
  struct Gap {
    std::uint64_t first, last;  // skipped numbers
    std::uint64_t passed_by;    // index of the arrival that skipped them
  };
  struct Past {
    std::vector<std::uint64_t> seen = std::vector<std::uint64_t>(kWindow / 64);
    std::deque<Gap> gaps;  // ascending
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

/// Loss and order of the requests or responses of one direction, derived from PSNs (IBTA vol. 1,
/// 9.7).
///
/// Requests: each packet takes one PSN, a READ REQUEST as many as its response has packets: its
/// RETH's length over the path MTU, which no header carries. It is derived from a FIRST or MIDDLE
/// of this stream, or from the PSN after a READ; until then the READ counts with the MTU that fits.
/// The latter may be wrong, as a lost READ doubles the distance: a later READ with a PSN inside the
/// span of an earlier one shows the larger MTU, and the packets that the wrong MTU hid count as
/// lost.
/// Responses: an ACK may acknowledge any number of packets, so ACKs close gaps and their order is
/// not checked; READ responses and ATOMIC ACKs are checked. A whole lost READ response between two
/// messages looks like SENDs that the next ACK acknowledges, so it counts only in a stream without
/// ACKs. UD: each source QP is a stream of its own; QP 0 and 1 send to many QPs and are ignored.
/// CNPs carry no PSN.
///
/// A PSN received before is a duplicate, copied or resent: the bytes are equal. A gap that is
/// filled late is reordering, unless the stream then repeats PSNs after the gap: then the sender
/// went back, and the gap was lost and retransmitted. Retransmission of single packets can't be
/// distinguished from reordering. A jump of more than SequenceTracker::kWindow is a new connection
/// on the same QP.
class PsnStream {
 public:
  /// True if `psn` is the next expected PSN.
  [[nodiscard]] bool expects(wire::Psn psn) const noexcept {
    return tracker_ && psn.value() == (tracker_->next() & wire::Psn::kMask);
  }

  /// Counts the next frame, whose opcode is known and whose headers are complete.
  void add(const roce::Frame& frame, OrderCounts& counts);

  /// Counts what still waits for the next frame. Call it before reading the counts; more frames may
  /// follow.
  void finalize(OrderCounts& counts);

 private:
  struct Read {
    std::uint64_t number, va;
    std::uint32_t length;
    std::uint64_t span = 0;  // PSNs that it was taken to have
  };
  static constexpr std::size_t kMostGuesses = 64;  // after which the MTU is certain
  /// Consecutive late PSNs, until the next arrival shows whether they are reordered or
  /// retransmitted.
  struct Fill {
    std::uint64_t next = 0, count = 0, extent = 0;
  };

  void take_request(const roce::Frame& frame, OrderCounts& counts);
  void take_response(const roce::Frame& frame, OrderCounts& counts);
  void take_number(std::uint64_t number, OrderCounts& counts, std::uint64_t span = 1);
  void finalize_fill(const std::uint64_t* again, OrderCounts& counts);
  void finish_read(wire::Psn following);
  void learn_mtu(const roce::Frame& frame);
  void pass_read(Read read);
  void unlearn_mtu(std::uint64_t number, std::uint64_t va, OrderCounts& counts);
  void adopt_mtu(std::uint32_t mtu, OrderCounts& counts);
  /// Extends a PSN to 64 bits, nearest to the expected number; counts a restart if it is far away.
  std::uint64_t unwrap(wire::Psn psn, OrderCounts& counts);

  std::optional<SequenceTracker> tracker_;
  // The newest request is a READ of an unknown number of PSNs; its length is 0 if its RETH was cut
  // off.
  std::optional<Read> read_;
  Fill fill_;
  std::uint32_t mtu_ = 0;      // bytes; 0: unknown
  std::vector<Read> guesses_;  // READs whose span came from an MTU that was derived from PSNs
  bool inside_message_ = false;
  bool has_acks_ = false;
};

}  // namespace lw::analysis
