// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/recovery.h"

#include <algorithm>
#include <utility>

namespace lw::analysis {
namespace {

bool covers(const Filled& gap, Sequence psn) noexcept {
  return psn >= gap.first && psn < gap.first + gap.packets;
}

/// Removes `span` PSNs from `psn` on; returns the entry that they belonged to.
Filled take_out(std::vector<Filled>& gaps, Sequence psn, std::uint32_t span) {
  const auto gap =
      std::ranges::find_if(gaps, [psn](const Filled& one) { return covers(one, psn); });
  const Filled old = *gap;
  gaps.erase(gap);
  const Sequence end = old.first + old.packets, behind = psn + span;
  if (psn > old.first) gaps.push_back({old.first, psn - old.first, old.frame, old.stamp});
  if (behind < end) gaps.push_back({behind, end - behind, old.frame, old.stamp});
  return old;
}

}  // namespace

void add_filled(std::vector<Filled>& filled, const Sent& gap, const Sent& sent,
                const FillSigns& signs) {
  const bool reads = sent.span > 1;
  const bool continues = !filled.empty() && !signs.asked && filled.back().taken == signs.taken &&
                         filled.back().reported == signs.reported &&
                         filled.back().frame == gap.frame && !reads && !filled.back().one_packet &&
                         filled.back().first + filled.back().packets == sent.psn;
  if (!continues)
    filled.push_back({sent.psn, 0, gap.frame, gap.stamp, reads, std::nullopt, gap.in_row,
                      signs.asked, signs.taken, signs.reported});
  filled.back().packets += sent.span;
}

bool Recovery::includes(const CapturedPacket& packet, Sequence psn, const Sent& known,
                        bool may_begin) const noexcept {
  if (psn == next) return true;
  if (psn < next || known.last_stamp >= first) return false;
  constexpr int kSlow = 8;  // a sender in software, which may pause
  return stamp_difference(packet.stamp, last) < (may_begin ? 1 : kSlow) * kShortestTimer;
}

bool Recovery::ends_with(Duration wait) const noexcept {
  return is_by_timer() && wait >= std::max(kShortestTimer, stamp_difference(first, since) / 2);
}

void Recovery::skip_to(Sequence psn, const CapturedPacket& packet, std::optional<bool> sent) {
  const bool continues = !skipped.empty() && skipped.back().frame == packet.number &&
                         skipped.back().first + skipped.back().packets == next;
  if (!continues) skipped.push_back({next, 0, packet.number, packet.stamp, false, sent});
  skipped.back().packets += psn - next;
}

bool Recovery::skips(Sequence psn, const Sent& known) const noexcept {
  return known.last_stamp < first && skips(psn);
}

bool Recovery::skips(Sequence psn) const noexcept {
  return std::ranges::any_of(skipped, [psn](const Filled& gap) { return covers(gap, psn); });
}

bool Recovery::is_past(const Sent& known) const noexcept {
  const bool unseen = known.psn >= start && known.psn < next && known.last_stamp < first;
  return unseen || skips(known.psn);
}

Filled Recovery::take_skipped(Sequence psn, std::uint32_t span) {
  return take_out(skipped, psn, span);
}

bool Recovery::fills(Sequence psn) const noexcept {
  return std::ranges::any_of(filled, [psn](const Filled& gap) { return covers(gap, psn); });
}

Filled Recovery::take_filled(Sequence psn, std::uint32_t span) {
  return take_out(filled, psn, span);
}

void Fill::add(const Sent& gap, const Sent& sent) {
  if (packets > 0 && sent.psn > next)
    skipped.push_back({next, sent.psn - next, sent.frame, sent.stamp});
  add_filled(filled, gap, sent);
  ++packets;
  next = sent.psn + sent.span;
  last_frame = sent.frame;
  last_stamp = sent.stamp;
}

bool Fill::has_jumped_from(Sequence psn) const noexcept {
  return !skipped.empty() && skipped.back().first == psn && skipped.back().frame == last_frame;
}

Fill Fill::take_newest(Sequence psn) {
  Fill newest{.first = filled.back().first,
              .next = next,
              .packets = 1,
              .first_frame = last_frame,
              .last_frame = last_frame,
              .first_stamp = last_stamp,
              .last_stamp = last_stamp,
              .filled = {filled.back()}};
  filled.pop_back();
  skipped.pop_back();
  next = psn;
  --packets;
  return newest;
}

Recovery Fill::as_recovery(Cause cause) && {
  return {.cause = cause,
          .start = first,
          .next = next,
          .packets = packets,
          .first_frame = first_frame,
          .last_frame = last_frame,
          .related_frame = nak_frame,
          .first = first_stamp,
          .last = last_stamp,
          .since = filled.front().stamp,
          .silence = silence,
          .filled = std::move(filled),
          .skipped = std::move(skipped)};
}

}  // namespace lw::analysis
