// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "gen/receive/flow_counts.h"
#include "gen/receive/sequence_tracker.h"
#include "roce/frame.h"

namespace lw::gen {

/// Loss and order of one direction's requests or responses as far as PSNs tell (IBTA vol. 1, 9.7).
///
/// Requests: each packet takes a PSN, a READ REQUEST as many as its response has packets. That
/// needs the path MTU, which no header carries: it is learnt from a FIRST or MIDDLE of this stream,
/// or from the PSN that follows a READ; until then the READ counts with the MTU that fits.
/// Responses: an ACK may stand for any number of packets, so ACKs bridge gaps and are not held to
/// an order; READ responses and ATOMIC ACKs are. A whole lost READ response at a message's border
/// looks like SENDs acknowledged along with it, so it counts in a stream without ACKs only.
/// UD: each source QP counts for itself; QP 0 and 1 talk to many and are not followed. CNPs carry
/// no number.
///
/// A PSN that came before is a duplicate, be it copied or sent again: the bytes are the same. A gap
/// that is filled late is reordering, unless the stream goes on behind it with PSNs it had before:
/// then the sender went back, and it is a retransmission of something lost. A sender that resends
/// single packets can't be told from reordering. A jump of more than SequenceTracker::kWindow is a
/// new connection on the same QP.
class PsnStream {
 public:
  /// Whether a frame with that PSN is nothing remarkable.
  [[nodiscard]] bool expects(wire::Psn psn) const noexcept {
    return tracker_ && psn.value() == (tracker_->next() & wire::Psn::kMask);
  }

  /// The next frame; its opcode is known and its headers are there.
  void take(const roce::Frame& frame, OrderCounts& counts);

  /// Counts what was still undecided. Call it before reading the counts; more frames may follow.
  void settle(OrderCounts& counts);

 private:
  struct Read {
    std::uint64_t number;
    std::uint32_t length;
  };
  /// Gaps filled one after the other, until the next arrival says why.
  struct Fill {
    std::uint64_t next = 0, count = 0, extent = 0;
  };

  void take_request(const roce::Frame& frame, OrderCounts& counts);
  void take_response(const roce::Frame& frame, OrderCounts& counts);
  void take_number(std::uint64_t number, OrderCounts& counts);
  void settle_fill(const std::uint64_t* again, OrderCounts& counts);
  void finish_read(wire::Psn following);
  void learn_mtu(const roce::Frame& frame);
  /// The PSN on an endless line, nearest to what is expected; counts a restart when it is far off.
  std::uint64_t unwrap(wire::Psn psn, OrderCounts& counts);

  std::optional<SequenceTracker> tracker_;
  std::optional<Read> read_;  // the newest request is a READ whose end isn't known yet
  Fill fill_;
  std::uint32_t mtu_ = 0;  // 0: not known
  bool inside_message_ = false;
  bool has_acks_ = false;
};

}  // namespace lw::gen
