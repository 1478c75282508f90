// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "gen/receive/sequence_tracker.h"
#include "roce/frame.h"

namespace lw::gen {

/// Loss and order of the requests or responses of one direction, derived from PSNs (IBTA vol. 1,
/// 9.7).
///
/// Requests: each packet takes one PSN, a READ REQUEST as many as its response has packets. That
/// number depends on the path MTU, which no header carries. It is derived from a FIRST or MIDDLE of
/// this stream, or from the PSN after a READ; until then the READ counts with the MTU that fits.
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
  void take(const roce::Frame& frame, OrderCounts& counts);

  /// Counts what waited for the next frame. Call it before reading the counts; more frames may
  /// follow.
  void finalize(OrderCounts& counts);

 private:
  struct Read {
    std::uint64_t number;
    std::uint32_t length;
  };
  /// Consecutive late PSNs, until the next arrival tells reordering from retransmission.
  struct Fill {
    std::uint64_t next = 0, count = 0, extent = 0;
  };

  void take_request(const roce::Frame& frame, OrderCounts& counts);
  void take_response(const roce::Frame& frame, OrderCounts& counts);
  void take_number(std::uint64_t number, OrderCounts& counts);
  void finalize_fill(const std::uint64_t* again, OrderCounts& counts);
  void finish_read(wire::Psn following);
  void learn_mtu(const roce::Frame& frame);
  /// Extends a PSN to 64 bits, nearest to the expected number; counts a restart if it is far away.
  std::uint64_t unwrap(wire::Psn psn, OrderCounts& counts);

  std::optional<SequenceTracker> tracker_;
  std::optional<Read> read_;  // the newest request is a READ of unknown length in PSNs
  Fill fill_;
  std::uint32_t mtu_ = 0;  // bytes; 0: unknown
  bool inside_message_ = false;
  bool has_acks_ = false;
};

}  // namespace lw::gen
