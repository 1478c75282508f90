// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/psn_reuse.h"

#include <utility>

#include "analysis/requests/request_checks.h"

namespace lw::analysis {

/// Whether a packet continues the newest one's message.
bool PsnReuse::has_rest(const CapturedPacket& packet, Sequence psn) const noexcept {
  return psn == next_ && wrong_order(*info_, packet).empty() &&
         packet.info->position != wire::Position::first &&
         packet.info->position != wire::Position::only;
}

bool PsnReuse::note(const CapturedPacket& packet, Sequence psn, std::uint32_t span, Sent& known) {
  // Without its RETH, a READ may have fewer PSNs, and what follows may have been lost.
  if (psn > known.psn && !known.has_reth) return false;
  std::string wrong = wrong_repetition(packet, known, psn - known.psn);
  if (wrong.empty() && !(seen_ && has_rest(packet, psn))) return false;
  if (seen_ && psn > first_ && psn <= next_) {
    seen_->last_frame = packet.number;
    ++seen_->packets;
  } else {
    finish();
    seen_ = report_.psn_reused(packet, known, std::move(wrong));
    first_ = psn;
  }
  next_ = psn + span;
  info_ = packet.info;
  known.reused = known.asked_again = true;
  return true;
}

}  // namespace lw::analysis
