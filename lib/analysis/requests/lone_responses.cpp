// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/lone_responses.h"

#include <algorithm>

namespace lw::analysis {

/// Returns `psn` without wrap-around, at least 2^32.
Sequence LoneResponses::unwrap(std::uint32_t psn) const noexcept {
  if (seen_.empty()) return (Sequence{1} << 32) + psn;
  const auto ahead = wire::Psn::distance(wire::Psn{psn_of(newest_)}, wire::Psn{psn});
  return newest_ + static_cast<Sequence>(std::int64_t{ahead});
}

void LoneResponses::take(const CapturedPacket& packet) {
  const Sequence psn = unwrap(packet.psn);
  if (seen_.empty()) first_ = newest_ = psn;
  const bool behind = psn > first_ && psn < newest_;
  if (psn >= newest_) {
    newest_ = psn;
    newest_frame_ = packet.number;
    newest_stamp_ = packet.stamp;
  }
  const SeenResponse before = seen_.empty() ? SeenResponse{} : seen_.at(psn);
  seen_.add(packet, psn);
  const bool known = before.psn == psn;
  // A copy comes between the responses of another answer: these skip nothing.
  const bool copy = known && !before.differs(packet, ip_numbers_.vary()) && next_ && psn != *next_;
  if (known)
    take_again(packet, psn, before);
  else
    repeated_.end();
  if (!known && behind && before.psn < psn && ip_numbers_.ordered()) {
    counts_.payload += packet.payload;
    return take_missing(packet, psn);
  }
  if (!copy) find_gap(packet, psn);
  if (known) return;
  ip_numbers_.add_new(packet.ip_id);
  counts_.payload += packet.payload;
}

/// Notes the PSNs of a READ response that `packet` skips.
void LoneResponses::find_gap(const CapturedPacket& packet, Sequence psn) {
  const wire::Position position = packet.info->position;
  const bool inside = position == wire::Position::middle || position == wire::Position::last;
  if (inside && next_ && psn > *next_ && psn - *next_ < kLongestGap) {
    const ResponseGap gap{*next_, psn - *next_, packet.number, packet.stamp};
    if (const auto old = gaps_.add(gap)) report_.response_gap(*old, Cause::none);
  }
  const bool goes_on = position == wire::Position::first || position == wire::Position::middle;
  next_ = goes_on ? std::optional(psn + 1) : std::nullopt;
}

/// Processes a response that comes behind later ones for the first time. Its responder's numbers
/// show whether it was sent before them, or once more because it was lost.
void LoneResponses::take_missing(const CapturedPacket& packet, Sequence psn) {
  const auto known = gaps_.covering(psn);
  ResponseGap gap = known.value_or(ResponseGap{.frame = newest_frame_, .stamp = newest_stamp_});
  if (known)
    gaps_.fill(*known, psn,
               [this](const ResponseGap& old) { report_.response_gap(old, Cause::none); });
  if (ip_numbers_.is_late(packet.ip_id)) return report_.late_response(packet, psn, gap);
  ip_numbers_.add(packet.ip_id);
  gap.first = psn;
  gap.packets = 1;
  report_.response_gap(gap, Cause::lost_before_capture);
}

void LoneResponses::take_again(const CapturedPacket& packet, Sequence psn,
                               const SeenResponse& before) {
  const bool differs = before.differs(packet, ip_numbers_.vary());
  if (!differs && ip_numbers_.vary() && !repeated_.goes_on(psn))
    return report_.response_copy(packet, psn, before.frame, Cause::path_copy);
  repeated_.add(packet, psn, {before.frame, before.stamp, before.begins}, differs);
}

}  // namespace lw::analysis
