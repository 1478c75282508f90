// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/requests/open_requests.h"
#include "analysis/requests/recovery.h"
#include "analysis/requests/repetition_cause.h"
#include "analysis/requests/stream_state.h"

namespace lw::analysis {

/// The recovery of a stream that goes on, and the last ones that ended, which are not reported as
/// long as their missing packets may come. `sent`: the packet that was sent again; `known`: its
/// entry in the log, null: none.
class Recoveries {
 public:
  /// A packet that came before, and that skips others in a recovery, the first of them `from`.
  struct Jump {
    Sequence from = 0;
    CapturedPacket packet;
    Sent sent;
    Sent known;  // its entry in the log before it came
  };

  /// `state` must outlive the object.
  explicit Recoveries(StreamState& state) noexcept : state_(state) { learn(state.setup().scheme); }

  /// Learns how the sender recovers.
  void learn(RecoveryScheme scheme) noexcept { selective_ = scheme == RecoveryScheme::selective; }

  /// Begins a recovery with a packet.
  void begin(const CapturedPacket& packet, const Sent& sent, Sent* known,
             const RepetitionCause& why);
  /// Begins a recovery with packets that filled a gap.
  void begin(Fill fill);
  /// Continues the recovery that goes on with a packet, if it belongs to it. Returns whether it
  /// does.
  bool extend(const CapturedPacket& packet, const Sent& sent, Sent& known);
  /// Continues the recovery that goes on with `filled`, which fills a part of `gap`.
  void take_filled(const CapturedPacket& packet, const Sent& gap, const Sent& filled,
                   const FillSigns& signs);
  /// A new packet with `psn` follows. A sender that goes back has repeated all packets before:
  /// those that did not come were lost once more, or come late.
  void skip_to_end(const CapturedPacket& packet, Sequence psn);
  /// Ends the recovery that goes on.
  void end();
  /// Reports the recoveries whose missing packets are no longer waited for when `packet` comes.
  void report_if_final(const CapturedPacket& packet) {
    while (!ended_.empty() && is_final(ended_.front(), packet)) report_oldest();
  }
  /// Reports all recoveries that have ended.
  void report_ended() {
    while (!ended_.empty()) report_oldest();
  }

  // Evidence about packets of a recovery that comes later. `recovery` is one that running() or a
  // function of find() has returned.

  /// A packet of a recovery with `span` PSNs comes behind later ones of it. `recovery`: null: it is
  /// reported. `skipped`: whether the recovery has skipped it. Returns the skipped PSNs that it
  /// belonged to, `seen` if there are none.
  Filled add_late(const Recovery* recovery, Sequence psn, std::uint32_t span, const Filled& seen,
                  bool skipped);
  /// Such a packet, `filled`, fills a part of `gap`.
  void fill_late(const Recovery& recovery, const Sent& gap, const Sent& filled,
                 const FillSigns& signs = {});
  /// The recovery begins with `psn`, or before. If a NAK asks for this packet, the recovery answers
  /// it, though this did not show before.
  void begin_at(const Recovery& recovery, Sequence psn);
  /// A packet with `span` PSNs that filled a gap in the recovery was not the first one that the
  /// sender sent: that one comes now, so it was late. Returns the PSNs that it belonged to.
  /// Requires recovery.fills(psn).
  Filled take_back_loss(const Recovery& recovery, Sequence psn, std::uint32_t span);
  /// Takes the newest packet back: it is none of the recovery, which goes on at `from`. Requires
  /// jump_from().
  Jump take_back_jump();
  /// The newest packet, which filled a gap, is none of the recovery that goes on, at `from`: it was
  /// late.
  void take_back_fill(Sequence from, const Fill& fill);
  /// The newest READ of the recovery does not end before `from`, but before `to`.
  void shorten(Sequence from, Sequence to) noexcept {
    if (recovery_ && recovery_->next == from) recovery_->next = to;
  }

  /// The recovery that goes on; null: none.
  [[nodiscard]] const Recovery* running() const noexcept {
    return recovery_ ? &*recovery_ : nullptr;
  }
  /// Returns the recovery that goes on, or the last one if it is not reported yet, whichever is
  /// `wanted`; null: none.
  template <class Wanted>
  [[nodiscard]] const Recovery* find(Wanted wanted) const {
    if (recovery_ && wanted(*recovery_)) return &*recovery_;
    return !ended_.empty() && wanted(ended_.back().recovery) ? &ended_.back().recovery : nullptr;
  }
  /// Returns the recovery, not reported yet, in which `psn` filled a gap; null: none.
  [[nodiscard]] const Recovery* find_filled(Sequence psn) const {
    if (recovery_ && recovery_->fills(psn)) return &*recovery_;
    const auto ended =
        std::ranges::find_if(ended_, [psn](const Ended& one) { return one.recovery.fills(psn); });
    return ended != ended_.end() ? &ended->recovery : nullptr;
  }
  /// Returns the recovery, not reported yet, in which a packet with this IP identification was
  /// sent; null: it was sent before them. Requires ip_numbers.ordered().
  [[nodiscard]] const Recovery* find_sent(std::uint16_t ip_id) const {
    const auto begins_before = [ip_id](const Recovery& one) {
      return !IpNumbers::is_before(ip_id, one.first_ip_id);
    };
    if (recovery_ && begins_before(*recovery_)) return &*recovery_;
    const auto ended = std::find_if(ended_.rbegin(), ended_.rend(),
                                    [&](const Ended& one) { return begins_before(one.recovery); });
    return ended != ended_.rend() ? &ended->recovery : nullptr;
  }
  /// Returns the newest packet, after which the recovery has not yet gone on, if it skipped the
  /// packets from `psn` on; null: it did not. It stays valid until the next request.
  [[nodiscard]] const Jump* jump_from(Sequence psn) const noexcept {
    const bool newest = recovery_ && jump_ && jump_->packet.number == recovery_->last_frame;
    if (!newest || jump_->from != psn || recovery_->skipped.empty()) return nullptr;
    const Filled& skipped = recovery_->skipped.back();  // unless one of these has come meanwhile
    return skipped.first == psn && skipped.frame == jump_->packet.number ? jump_.get() : nullptr;
  }
  [[nodiscard]] bool none_open() const noexcept { return !recovery_ && ended_.empty(); }
  /// The PSN with which the sender goes on.
  [[nodiscard]] Sequence next() const noexcept {
    return recovery_ ? recovery_->next : state_.next();
  }

  /// Whether the sender repeats single packets: its flow shows it, or else its last recovery.
  [[nodiscard]] bool selective() const noexcept { return selective_; }

  // The newest recovery.
  [[nodiscard]] Sequence start() const noexcept { return start_; }  // 0: there was none
  [[nodiscard]] Instant stamp() const noexcept { return stamp_; }   // of its first packet
  [[nodiscard]] bool is_by_nak() const noexcept { return by_nak_; }
  /// Before the repetitions of the packet with which the newest recoveries began.
  [[nodiscard]] const RetryWaits& retry_waits() const noexcept { return retry_waits_; }

 private:
  /// A recovery that has ended, and is reported after the PSN `until`.
  struct Ended {
    Recovery recovery;
    bool goes_back = false;  // up to the newest packet
    Sequence until = 0;
  };

  [[nodiscard]] bool may_begin_with(const Sent& sent) const noexcept;
  void start(Recovery recovery, const Sent* first, std::uint64_t numbers_skipped);
  void go_on(const CapturedPacket& packet, Sent* known, const Sent& sent);
  void note_repeated(const CapturedPacket& packet, const Sent& sent, Sent& known);
  void note_lost_recovery(const CapturedPacket& packet, Sequence psn);
  [[nodiscard]] bool is_answer_to_nak() const noexcept;
  [[nodiscard]] bool interrupts_another(Sequence psn) const noexcept;
  [[nodiscard]] bool lost_before(const CapturedPacket& packet, Sequence psn);
  [[nodiscard]] bool knows_no_ack(const CapturedPacket& packet) const noexcept;
  [[nodiscard]] std::optional<bool> was_sent(const CapturedPacket& packet, Sequence psn);
  [[nodiscard]] bool may_skip(const CapturedPacket& packet, Sequence psn);
  void skip_seen(const CapturedPacket& packet, Sequence psn);
  void note_lost_beginning(const Sent& first, std::uint64_t numbers_skipped);
  void note_lost_end(const Recovery& next, std::uint64_t numbers_skipped);
  void note_begin_behind_gap(const Sent& first, std::uint64_t numbers_skipped);
  [[nodiscard]] Sequence first_gap();
  [[nodiscard]] bool is_final(const Ended& ended, const CapturedPacket& packet) const noexcept;
  [[nodiscard]] Recovery& own(const Recovery& recovery) noexcept;
  [[nodiscard]] const Recovery* was_late_part(const Recovery& recovery);
  void add_late_part(const Recovery& before, const Recovery& late);
  [[nodiscard]] bool is_late_packet(const Recovery& recovery) const noexcept;
  void report_late_packet(const Recovery& recovery);
  void report_oldest();
  void note_taken(Recovery& recovery);
  void forget_answered(Recovery& recovery);

  StreamState& state_;
  std::optional<Recovery> recovery_;
  std::unique_ptr<Jump> jump_;  // the newest one; null: none
  std::vector<Ended> ended_;    // oldest first
  Sequence start_ = 0;
  Instant stamp_;
  bool by_nak_ = false;
  bool selective_ = false;
  RetryWaits retry_waits_;
  Sequence interrupted_ = 0;  // the PSN at which the last recovery would have gone on; 0: none
  Sequence first_gap_ = 0;    // as first_gap(), at the newest recovery
};

}  // namespace lw::analysis
