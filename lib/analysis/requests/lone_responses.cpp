// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/lone_responses.h"

#include <algorithm>
#include <utility>

namespace lw::analysis {

/// Returns `psn` without wrap-around, at least 2^32.
Sequence LoneResponses::unwrap(std::uint32_t psn) const noexcept {
  if (seen_.empty()) return (Sequence{1} << 32) + psn;
  const auto ahead = wire::Psn::distance(wire::Psn{psn_of(newest_)}, wire::Psn{psn});
  return newest_ + static_cast<Sequence>(std::int64_t{ahead});
}

void LoneResponses::note(const CapturedPacket& packet) {
  const Sequence psn = unwrap(packet.psn);
  judge_held(psn);
  if (seen_.empty()) first_ = newest_ = psn;
  const bool behind = psn > first_ && psn < newest_;
  if (psn >= newest_) {
    newest_ = psn;
    newest_frame_ = packet.number;
    newest_stamp_ = packet.stamp;
  }
  const SeenResponse before = seen_.empty() ? SeenResponse{} : seen_.at(psn);
  if (before.psn <= psn) seen_.add(packet, psn);  // an old one takes no newer one's place
  const bool known = before.psn == psn;
  // A copy comes between the responses of another answer: these skip nothing.
  const bool copy = known && !before.differs(packet, ip_numbers_.vary()) && next_ && psn != *next_;
  if (known && take_overtaken(packet, psn)) return;
  if (known)
    take_again(packet, psn, before);
  else
    repeated_.end();
  const std::optional<bool> again = was_sent_again(packet, psn, before);
  last_ = {psn, again.value_or(false)};
  if (packet.has_aeth && psn >= newest_aeth_.psn)
    newest_aeth_ = {psn, packet.msn, packet.begins_message()};
  if (!known && behind && before.psn < psn) {
    counts_.payload += packet.payload;
    if (again) return take_missing(packet, psn, *again);
    held_ = std::make_unique<Held>(packet, psn);
    return;
  }
  if (!copy) find_gap(packet, psn, !known || before.differs(packet, ip_numbers_.vary()));
  if (known) return ip_numbers_.add(packet.ip_id);
  ip_numbers_.add_new(packet.ip_id);
  counts_.payload += packet.payload;
}

/// Notes the PSNs of READ responses that are missing before `packet`: those within its own; or, if
/// it continues none, one at the end of the response before it and one at the begin of its own.
/// `sent`: it is no copy of the path.
void LoneResponses::find_gap(const CapturedPacket& packet, Sequence psn, bool sent) {
  const wire::Position position = packet.info->position;
  const bool inside = position == wire::Position::middle || position == wire::Position::last;
  if (cut_ && inside && psn == cut_->next) {  // it goes on: what cut it was late
    next_ = psn;
    cut_.reset();
  }
  if (cut_ && psn == cut_->by + cut_->row) ++cut_->row;
  if (cut_ && (cut_->sent || psn + 1 != cut_->by + cut_->row || cut_->row == kSeveral)) end_cut();
  const bool follows = inside && next_ && psn >= *next_ && psn - *next_ < kLongestGap;
  if (follows && psn > *next_) add_gap({*next_, psn - *next_, packet.number, packet.stamp});
  if (!follows && (next_ || inside))
    cut_ = Cut{.next = next_.value_or(0),
               .by = inside && has_begun_ ? psn : 0,
               .sent = sent,
               .frame = packet.number,
               .stamp = packet.stamp};
  has_begun_ = true;
  const bool goes_on = position == wire::Position::first || position == wire::Position::middle;
  next_ = goes_on ? std::optional(psn + 1) : std::nullopt;
}

/// Returns the gap that `psn` fills, and removes it; nothing: it fills none.
std::optional<ResponseGap> LoneResponses::fill_gap(Sequence psn) {
  if (cut_ && (psn == cut_->next || psn + 1 == cut_->by)) {
    (psn == cut_->next ? cut_->next : cut_->by) = 0;
    return ResponseGap{psn, 1, cut_->frame, cut_->stamp};
  }
  const auto gap = gaps_.covering(psn);
  if (gap)
    gaps_.fill(*gap, psn,
               [this](const ResponseGap& old) { report_.response_gap(old, Cause::none); });
  return gap;
}

/// Notes what is missing of a response that does not go on, and of the one that cut it.
void LoneResponses::end_cut() {
  if (cut_->next != 0) add_gap({cut_->next, 1, cut_->frame, cut_->stamp});
  const bool sent = cut_->sent || cut_->row >= kSeveral;
  if (cut_->by != 0 && sent) add_gap({cut_->by - 1, 1, cut_->frame, cut_->stamp});
  cut_.reset();
}

void LoneResponses::add_gap(const ResponseGap& gap) {
  if (const auto old = gaps_.add(gap)) report_.response_gap(*old, Cause::none);
}

/// Whether a response was sent after later ones, because its request came again; nothing: that
/// is unknown. The IP identifications decide, if they count up; the MSN, which never falls
/// (IBTA vol. 1, 9.7.7.1), if another message's response came; or the response before it in the
/// same row.
std::optional<bool> LoneResponses::was_sent_again(const CapturedPacket& packet, Sequence psn,
                                                  const SeenResponse& before) const noexcept {
  if (before.psn == psn)
    return before.differs(packet, ip_numbers_.vary()) || (last_.again && psn == last_.psn + 1);
  if (ip_numbers_.ordered()) return !ip_numbers_.is_late(packet.ip_id);
  if (packet.has_aeth && newest_aeth_.psn > psn) {
    const auto ahead = wire::Psn::distance(wire::Psn{newest_aeth_.msn}, wire::Psn{packet.msn});
    if (ahead != 0 || newest_aeth_.begins) return ahead >= 0;
  }
  if (last_.again && psn == last_.psn + 1) return true;
  return std::nullopt;
}

/// Judges the held response by the one that comes next, `psn`: a responder sends an answer again in
/// a row.
void LoneResponses::judge_held(Sequence psn) {
  if (!held_) return;
  const std::unique_ptr<Held> held = std::move(held_);
  last_.again = psn == held->psn + 1;
  take_missing(held->packet, held->psn, last_.again);
}

/// Processes a response that comes behind later ones for the first time. `again`: it was sent once
/// more because it was lost, not before them.
void LoneResponses::take_missing(const CapturedPacket& packet, Sequence psn, bool again) {
  ResponseGap gap =
      fill_gap(psn).value_or(ResponseGap{.frame = newest_frame_, .stamp = newest_stamp_});
  if (!again) return report_.late_response(packet, psn, gap);
  find_gap(packet, psn, true);
  ip_numbers_.add(packet.ip_id);
  gap.first = psn;
  gap.packets = 1;
  report_.response_gap(gap, Cause::lost_before_capture);
}

/// Processes a response that fills a gap in a repeated answer: others of this answer overtook it,
/// as IP identifications show. False: it belongs to another answer, or nothing tells.
bool LoneResponses::take_overtaken(const CapturedPacket& packet, Sequence psn) {
  if (!ip_numbers_.is_late(packet.ip_id)) return false;
  const auto gap = fill_gap(psn);
  if (!gap) return false;
  report_.late_response(packet, psn, *gap);
  return true;
}

void LoneResponses::take_again(const CapturedPacket& packet, Sequence psn,
                               const SeenResponse& before) {
  const bool differs = before.differs(packet, ip_numbers_.vary());
  if (!differs && ip_numbers_.vary() && !repeated_.goes_on(psn))
    return report_.response_copy(packet, psn, before.frame, Cause::path_copy);
  repeated_.add(packet, psn, {before.frame, before.stamp, before.begins}, differs);
}

}  // namespace lw::analysis
