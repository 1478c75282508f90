// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "analysis/anomaly.h"
#include "analysis/requests/gap_fills.h"
#include "analysis/requests/recoveries.h"
#include "analysis/requests/stream_state.h"

namespace lw::analysis {

/// A loss behind the capture point: a packet that passed it, and that a NAK asks for. What follows
/// may show that it was not lost: the NAK may be for an earlier transmission of it, or the packet
/// may come late.
class LossesBehind {
 public:
  /// The arguments must outlive the object.
  LossesBehind(StreamState& state, Recoveries& recoveries, const GapFills& fills) noexcept
      : state_(state), recoveries_(recoveries), fills_(fills) {}

  /// Processes a NAK of a sequence error, which came for the first time. `nak`: its report.
  void take_nak(const Anomaly& nak, Sequence psn) {
    if (!passed_here(psn)) return;
    asked_for_ = Loss{StreamReport::lost_after_capture(nak), psn, {}};
    note_time(nak.stamp, psn);
  }
  /// Processes a request.
  void take_request(const CapturedPacket& packet, Sequence psn) {
    if (asked_for_ && psn == asked_for_->psn) note_asked_again(packet.stamp);
  }
  /// Processes an answer that acknowledges all up to the one before `end`.
  void take_ack(Sequence end, Instant stamp) {
    if (asked_for_ && end > asked_for_->psn) report_overtaken();
    if (asked_again_ && end > asked_again_->psn)
      report(asked_again_, stamp_difference(stamp, asked_again_->stamp));
  }
  /// Reports what is open at the end of the capture.
  void finish() {
    report(asked_again_, {});
    report(asked_for_, {});
  }
  [[nodiscard]] bool none_open() const noexcept { return !asked_for_ && !asked_again_; }

 private:
  struct Loss {
    Anomaly lost;
    Sequence psn = 0;
    Instant stamp;  // when it was sent again
  };

  void note_time(Instant asked, Sequence psn);
  void note_asked_again(Instant stamp);
  void report(std::optional<Loss>& loss, std::optional<Duration> answered);
  void report_overtaken();
  [[nodiscard]] bool passed_here(Sequence psn);

  StreamState& state_;
  Recoveries& recoveries_;
  const GapFills& fills_;
  /// Until the packet is sent again: before that, the receiver may have refused an early
  /// transmission, and may still receive a later one.
  std::optional<Loss> asked_for_;
  /// A packet that was sent again. If an answer acknowledges it sooner than any answer comes, it
  /// had not been lost.
  std::optional<Loss> asked_again_;
};

}  // namespace lw::analysis
