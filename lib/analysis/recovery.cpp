// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/recovery.h"

#include <algorithm>
#include <utility>

namespace lw::analysis {
namespace {

bool covers(const Filled& gap, Sequence psn) noexcept {
  return psn >= gap.first && psn < gap.first + gap.packets;
}

}  // namespace

void add_filled(std::vector<Filled>& filled, const Sent& gap, const Sent& sent) {
  const bool continues = !filled.empty() && filled.back().frame == gap.frame &&
                         filled.back().first + filled.back().packets == sent.psn;
  if (!continues) filled.push_back({sent.psn, 0, gap.frame, gap.stamp});
  filled.back().packets += sent.span;
}

bool Recovery::includes(const Packet& packet, Sequence psn, const Sent& known) const noexcept {
  if (psn < next || known.last_stamp >= first) return false;
  return psn == next || stamp_difference(packet.stamp, last) < kShortestTimer;
}

void Recovery::skip_to(Sequence psn, const Packet& packet) {
  skipped.push_back({next, psn - next, packet.number, packet.stamp});
}

bool Recovery::skips(Sequence psn, const Sent& known) const noexcept {
  return known.last_stamp < first &&
         std::ranges::any_of(skipped, [psn](const Filled& gap) { return covers(gap, psn); });
}

Filled Recovery::take_skipped(Sequence psn, std::uint32_t span) {
  const auto gap =
      std::ranges::find_if(skipped, [psn](const Filled& one) { return covers(one, psn); });
  const Filled old = *gap;
  skipped.erase(gap);
  const Sequence end = old.first + old.packets, behind = psn + span;
  if (psn > old.first) skipped.push_back({old.first, psn - old.first, old.frame, old.stamp});
  if (behind < end) skipped.push_back({behind, end - behind, old.frame, old.stamp});
  return old;
}

void Fill::add(const Sent& gap, const Sent& sent) {
  add_filled(filled, gap, sent);
  ++packets;
  next = sent.psn + sent.span;
  last_frame = sent.frame;
  last_stamp = sent.stamp;
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
          .filled = std::move(filled)};
}

}  // namespace lw::analysis
