// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>

#include "analysis/packet.h"
#include "analysis/requests/fetch_responses.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// Finds what a stream sent before the capture began, from its first packets and their answers. In
/// the first round trip of a capture, the sender may repeat, and the receiver may answer, packets
/// that were not captured.
class CaptureBegin {
 public:
  /// More packets in a row than a path loses or delays in the first round trip.
  static constexpr Sequence kManyInARow = 8;

  /// Processes a response that comes before the first request.
  void take_lone(const CapturedPacket& packet) noexcept {
    oldest_ = 0;
    const wire::Psn end = wire::Psn{packet.psn} + (answers(packet) ? 1U : 0U);
    if (!lone_end_ || wire::Psn::distance(*lone_end_, end) > 0) lone_end_ = end;
  }
  /// Notes that the newest of these is a NAK.
  void note_lone_nak(const CapturedPacket& packet) noexcept { lone_nak_ = packet.psn; }
  /// Processes the first request.
  void take_first(const CapturedPacket& packet, Sequence psn) noexcept {
    begin_ = first_ = psn;
    within_message_ = packet.info->position == wire::Position::middle ||
                      packet.info->position == wire::Position::last;
    begins_again_ = lone_nak_ == packet.psn;
  }
  /// Notes a request in order.
  void note_in_order() noexcept { in_order_ += in_order_ < kSettled; }
  /// Ends the first round trip if enough requests came in order, and are past what was acknowledged
  /// before. Returns whether it ends it. `answered`: an answer to a captured request came. `next`:
  /// one past the highest PSN seen.
  [[nodiscard]] bool end_round_trip(bool answered, Sequence next) noexcept {
    if (settled_ || in_order_ < kSettled || !answered || next <= acked_early_) return false;
    return settled_ = true;
  }
  /// Notes the frame of the first response.
  void note_first_answer(std::uint64_t frame) noexcept { first_answer_ = frame; }
  /// Notes a response. `end`: one past the highest PSN that it may answer. Each message that the
  /// responder has completed has at least one PSN, and it counts them from 0 on. (IBTA vol.
  /// 1, 9.7.7.1)
  void note_answer(const CapturedPacket& packet, Sequence psn, Sequence end) noexcept {
    if (settled_) return;
    const bool counts = packet.has_aeth && packet.msn != 0;
    oldest_ = std::min({oldest_, psn, counts ? end - packet.msn : psn});
  }
  /// Notes an ACK of a PSN that was not seen before.
  void note_early_ack(Sequence psn) noexcept {
    if (!settled_) acked_early_ = std::max(acked_early_, psn);
  }
  /// Notes a NAK: the receiver still expects `psn`. If this is before the PSNs that were captured,
  /// the first packets of the connection were lost; or, if it is far before and the receiver has
  /// completed `messages`, the capture began later.
  void note_expected(Sequence psn, std::uint32_t messages) noexcept {
    // It names the connection's first packets: nothing was completed, and nothing is far behind it.
    const bool is_first = messages == 0 && psn + kManyInARow > begin_;
    if (joined() && !is_first) return;
    if (psn + kManyInARow <= begin_ && messages > 0)
      oldest_ = 0;
    else
      begin_ = std::min(begin_, psn);
  }
  /// Notes that requests were sent before the first one that was captured.
  void note_sent_before() noexcept { oldest_ = 0; }
  /// Notes a request below first().
  void note_below(Sequence psn) noexcept { first_ = psn; }
  /// Notes that the capture begins with `psn`: what came before it in the capture was repeated.
  void begin_at(Sequence psn) noexcept { begin_ = psn; }

  /// Whether requests were sent before the first one that was captured.
  [[nodiscard]] bool joined() const noexcept { return oldest_ < first_; }
  /// Also true if a message has begun before.
  [[nodiscard]] bool began_before() const noexcept { return joined() || within_message_; }
  /// Whether an answer of the first round trip acknowledged a PSN that the sender may have sent
  /// before the capture began.
  [[nodiscard]] bool was_acked_early(Sequence psn) const noexcept {
    return began_before() && psn <= acked_early_;
  }
  /// Whether the first request is sent again because of a NAK that came before it.
  [[nodiscard]] bool begins_again() const noexcept { return begins_again_; }
  /// Whether the newest NAK before the first request names `psn`.
  [[nodiscard]] bool was_named_before(Sequence psn) const noexcept {
    return lone_nak_ == psn_of(psn);
  }
  /// Whether enough requests came in order.
  [[nodiscard]] bool has_order() const noexcept { return in_order_ == kSettled; }
  /// Whether the first round trip is over.
  [[nodiscard]] bool is_over() const noexcept { return settled_; }
  /// Whether requests were sent before, and may come again.
  [[nodiscard]] bool may_repeat() const noexcept { return joined() && !settled_; }

  [[nodiscard]] Sequence first() const noexcept { return first_; }  // the lowest PSN seen
  [[nodiscard]] Sequence psn() const noexcept { return begin_; }    // that the capture began with
  [[nodiscard]] std::uint64_t first_answer() const noexcept { return first_answer_; }  // 0: none
  /// One past the highest PSN of the responses before the first request.
  [[nodiscard]] std::optional<wire::Psn> lone_end() const noexcept { return lone_end_; }

 private:
  static constexpr std::uint32_t kSettled = 4;  // packets in order

  Sequence first_ = 0, begin_ = 0;
  Sequence oldest_ = ~Sequence{0};  // a PSN that was sent, as answers of that time show
  Sequence acked_early_ = 0;        // the highest PSN acknowledged before it was seen
  std::uint64_t first_answer_ = 0;
  std::uint32_t in_order_ = 0;  // up to kSettled
  bool settled_ = false;
  bool within_message_ = false;  // the first packet is not the first one of its message
  bool begins_again_ = false;
  std::optional<wire::Psn> lone_end_;
  std::optional<std::uint32_t> lone_nak_;  // the PSN of the newest NAK before the first request
};

}  // namespace lw::analysis
