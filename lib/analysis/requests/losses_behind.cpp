// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/losses_behind.h"

#include <algorithm>
#include <utility>

namespace lw::analysis {

/// Notes how long after the packet behind a lost one the NAK came.
void LossesBehind::note_time(Instant asked, Sequence psn) {
  const Sent* const behind = state_.log.find(psn + 1);
  if (behind == nullptr || !behind->seen || !state_.answers.is_undisturbed(behind->stamp)) return;
  ++state_.counts.loss_naks;
  state_.counts.longest_loss_nak =
      std::max(state_.counts.longest_loss_nak, stamp_difference(asked, behind->last_stamp));
}

void LossesBehind::note_asked_again(Instant stamp) {
  report(asked_again_, {});
  // Of several transmissions, the NAK was for an older one than the answer.
  const Sent* const sent = state_.log.find(asked_for_->psn);
  if (sent == nullptr || sent->copies > 0) return report(asked_for_, {});
  asked_again_ = std::exchange(asked_for_, std::nullopt);
  asked_again_->stamp = stamp;
}

/// `answered`: time from the repetition to the answer that acknowledges it; nothing: none came.
void LossesBehind::report(std::optional<Loss>& loss, std::optional<Duration> answered) {
  if (loss) state_.report.lost_behind(loss->lost, {.answered = answered});
  loss.reset();
}

/// The packet that a NAK asks for is acknowledged, and was not sent again since. It came late,
/// unless it was late here already; or it was sent again before the NAK.
void LossesBehind::report_overtaken() {
  const Anomaly lost = std::move(asked_for_->lost);
  const Sequence psn = asked_for_->psn;
  asked_for_.reset();
  const Sent* const sent = state_.log.find(psn);
  // A receiver that discards what comes behind a gap asks for that, too.
  if (!recoveries_.selective() || sent == nullptr || state_.late.has(psn)) return;
  // It may have been sent before the capture, too: then the NAK was for that transmission.
  if (state_.begin.joined() && state_.report.is_early(psn)) return;
  state_.report.overtaken(lost, sent->copies > 0);
}

/// Whether the newest transmission of a packet has passed the capture point.
bool LossesBehind::passed_here(Sequence psn) {
  const Sent* const sent = state_.log.find(psn);
  if (sent == nullptr || !sent->seen) return false;
  if (recoveries_.selective()) {
    // The NAK was sent before a packet that came late here can have reached the receiver.
    if (state_.late.has(psn) &&
        stamp_difference(state_.answers.newest(), sent->last_stamp) < state_.least_round_trip())
      return false;
    // The first NAK of a packet that a recovery fills in is for the gap.
    return state_.naks.was_answered(psn) ||
           recoveries_.find([psn](const Recovery& one) { return one.fills(psn); }) == nullptr;
  }
  // It came late here: the receiver missed it when the packets that overtook it came.
  if (state_.late.was_overtaken(psn, sent->last_stamp)) return false;
  if (fills_.has_unasked(psn)) return false;
  // The receiver discards what comes after a missing packet, until that packet comes.
  if (state_.late.has_before(psn, sent->last_stamp) ||
      state_.naks.has_open_before(psn, state_.acked()))
    return false;
  // It is for an earlier transmission, which came behind the packet that the recovery began with.
  constexpr int kFar = 2;
  if (recoveries_.start() < psn && sent->copies == 1 && recoveries_.is_by_nak() &&
      stamp_difference(state_.answers.newest(), sent->last_stamp) <
          state_.least_round_trip() / kFar)
    return false;
  return recoveries_.start() == 0 || psn < recoveries_.start() ||
         sent->last_stamp >= recoveries_.stamp();
}

}  // namespace lw::analysis
