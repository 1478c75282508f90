// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/lone_responses.h"

#include <algorithm>

namespace lw::analysis {

/// Returns `psn` without wrap-around, at least 2^32.
Sequence LoneResponses::unwrap(std::uint32_t psn) const noexcept {
  if (!seen_) return (Sequence{1} << 32) + psn;
  const auto ahead = wire::Psn::distance(wire::Psn{psn_of(newest_)}, wire::Psn{psn});
  return newest_ + static_cast<Sequence>(std::int64_t{ahead});
}

void LoneResponses::take(const CapturedPacket& packet) {
  const Sequence psn = unwrap(packet.psn);
  newest_ = seen_ ? std::max(newest_, psn) : psn;
  if (!seen_) seen_ = std::make_unique<std::array<Seen, kMost>>();
  Seen& place = (*seen_)[psn % kMost];
  const bool known = place.psn == psn;
  if (known) take_again(packet, psn, place);
  const wire::Position position = packet.info->position;
  const bool inside = position == wire::Position::middle || position == wire::Position::last;
  if (inside && next_ && psn > *next_ && psn - *next_ < kLongestGap)
    report_.response_gap({*next_, psn - *next_, packet.number, packet.stamp}, Cause::none);
  const bool goes_on = position == wire::Position::first || position == wire::Position::middle;
  next_ = goes_on ? std::optional(psn + 1) : std::nullopt;
  place = {psn, packet.number, packet.msn, packet.ip_id};
  if (known) return;
  ip_numbers_.add_new(packet.ip_id);
  counts_.payload += packet.payload;
}

/// A copy has the IP identification of its original, and its MSN. What follows a response that came
/// again belongs to the same request, which was sent again.
void LoneResponses::take_again(const CapturedPacket& packet, Sequence psn, const Seen& first) {
  const bool differs = ip_numbers_.vary() && packet.ip_id != first.ip_id;
  if (differs || (packet.has_aeth && packet.msn != first.msn)) {
    if (psn != again_) report_.response_again(packet, psn, first.frame);
    again_ = psn + 1;
    return;
  }
  if (psn == again_) {
    again_ = psn + 1;
    return;
  }
  report_.response_copy(packet, psn, first.frame,
                        ip_numbers_.vary() ? Cause::path_copy : Cause::none);
}

}  // namespace lw::analysis
