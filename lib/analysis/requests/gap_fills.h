// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "analysis/requests/recoveries.h"
#include "analysis/requests/recovery.h"
#include "analysis/requests/stream_state.h"

namespace lw::analysis {

/// Packets that filled a gap, until what follows shows whether they came late or were sent again.
class GapFills {
 public:
  /// `state` and `recoveries` must outlive the object.
  GapFills(StreamState& state, Recoveries& recoveries) noexcept
      : state_(state), recoveries_(recoveries) {}

  /// Processes a packet that fills a gap.
  void note(const CapturedPacket& packet, const Sent& sent);
  /// Decides about a packet that filled a gap elsewhere than the recovery was. `next`: PSN of the
  /// next request. Call it before judge().
  void judge_place(Sequence next) {
    if (jump_) judge_jump(next);
    if (behind_) judge_behind(next);
  }
  /// Decides what a filled gap was, when the next request comes. `psn`: PSN of this request.
  /// `known`: its entry in the log; null: it is new.
  void judge(const CapturedPacket& next, Sequence psn, const Sent* known);
  /// A receiver that discards what comes behind a gap expects `psn`, as its NAK says.
  void take_nak(Sequence psn);
  /// More packets are acknowledged.
  void take_ack() {
    if (held_ && state_.acked() > held_->next) judge_held(false);
  }
  /// Decides at the end of the capture.
  void finish() {
    if (behind_) judge_behind(0);
    if (fill_) decide(nullptr, 0, nullptr);
    judge_held(false);
  }

  [[nodiscard]] bool none_open() const noexcept { return !fill_ && !held_ && !behind_; }
  /// Whether a packet filled a gap, is not decided about, and no NAK asked for it.
  [[nodiscard]] bool has_unasked(Sequence psn) const noexcept {
    return fill_ && fill_->nak_frame == 0 && psn >= fill_->first && psn < fill_->next;
  }

 private:
  /// A packet that fills a gap further on than the recovery is, at `from`. If the recovery goes on
  /// there, the packet was late; otherwise it belongs to the recovery.
  struct Jump {
    Sequence from = 0;
    Fill fill;
  };

  /// A packet that fills a gap which the recovery has skipped. If the recovery goes on, it was a
  /// late one of it; otherwise another recovery may begin with it.
  struct Behind {
    CapturedPacket packet;
    Sent gap, filled;
    FillSigns signs;
  };

  void judge_jump(Sequence next);
  void judge_behind(Sequence next);
  void add(const CapturedPacket& packet, const Sent& gap, const Sent& filled);
  void decide(const CapturedPacket* next, Sequence psn, const Sent* known);
  void judge_held(bool repeated);
  void note_jump(const CapturedPacket& packet, const Sent& gap, const Sent& filled);

  StreamState& state_;
  Recoveries& recoveries_;
  std::optional<Fill> fill_;  // the next request decides about it
  std::optional<Fill> held_;  // after a NAK: its repetition, an ACK or the next one decides
  std::optional<Jump> jump_;
  std::unique_ptr<Behind> behind_;  // null: none
};

}  // namespace lw::analysis
