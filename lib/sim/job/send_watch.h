// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>

#include "sim/job/time_parts.h"
#include "transport/queue_pair.h"

namespace lw::sim {

/// The way that a QP's packets take, as far as it is the same for all.
struct SendWay {
  Duration delay{};          // of cables, switches and NICs
  double sender_ns = 0;      // per byte, of the sender's cable
  double slowest_ns = 0;     // per byte, of the slowest cable
  double further_ns = 0;     // per byte, sum of all cables but the sender's
  std::uint32_t mtu = 4096;  // payload
};

/// Watches the packets that a QP sends, and says what delayed a message: see TimeParts.
class SendWatch {
 public:
  /// Sums since the start of a run.
  struct Sums {
    Duration recovery{};   // time between the sending of lost packets and their repetition
    Duration window{};     // time without a packet, as a window was full
    double sent_ns = 0;    // time on the sender's cable, of all QPs of the job's rank
    double wasted_ns = 0;  // of that: packets of this QP that were sent again
  };

  /// `own_ns`: time on the cable of the rank's packets, which all its QPs count together; it
  /// outlives the object.
  SendWatch(const SendWay& way, double& own_ns) : way_(way), own_ns_(&own_ns) {}

  /// A request has begun to leave the host at `now`. Returns true if it was sent before.
  bool left(const transport::Packet& packet, const transport::QueuePair& pair, Instant now);
  [[nodiscard]] Sums sums(Instant now) const noexcept;
  [[nodiscard]] const SendWay& way() const noexcept { return way_; }

 private:
  struct Sent {
    Instant at;
    double own_ns = 0;  // then
  };

  void sent_again(const transport::Packet& packet, const transport::QueuePair& pair, Instant now);
  [[nodiscard]] static bool is_full(const transport::Packet& packet,
                                    const transport::QueuePair& pair) noexcept;

  SendWay way_;
  double* own_ns_;
  std::deque<Sent> sent_;  // of the packets that are not acknowledged, or were not lately
  wire::Psn next_;         // after the newest packet
  wire::Psn last_;         // the packet that left last
  bool began_ = false;
  Sent repeated_;                        // the last time that lost packets were
  Instant full_since_ = Instant::max();  // the window; max(): it is not
  Duration recovery_{}, window_{};
  double wasted_ns_ = 0;
};

/// What delayed a message that was ready to be sent at `ready` and arrived at `arrived`, when its
/// last packet left at `left`, between these sums of its QP. The parts' total is its whole time.
TimeParts parts_of(const SendWay& way, const SendWatch::Sums& at_ready, Instant ready,
                   const SendWatch::Sums& at_left, Instant left, std::uint64_t bytes,
                   Instant arrived);

}  // namespace lw::sim
