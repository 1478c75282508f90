// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/finding_log.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace lw::analysis {
namespace {

/// The gap in a READ's response that a fact is about: where its connection shows it.
using GapFrame = std::tuple<std::uint32_t, std::uint8_t, std::uint64_t>;

GapFrame gap_frame(const Anomaly& seen, std::uint64_t frame) {
  return {seen.session, seen.direction, frame};
}

/// Session, direction of the packet, PSN and frame.
using DamagedFrame = std::tuple<std::uint32_t, std::uint8_t, std::uint32_t, std::uint64_t>;

/// Takes the damaged frames that a gap skips, the newest of each PSN before the frame that showed
/// the gap. Returns whether there is one for each packet; otherwise takes none.
bool take_skipped(std::set<DamagedFrame>& damaged, const Fact& fact) {
  const Anomaly& gap = fact.seen;
  const bool response = gap.role == wire::Role::response;
  const auto direction = static_cast<std::uint8_t>(response ? 1 - gap.direction : gap.direction);
  std::vector<DamagedFrame> taken;
  for (std::uint64_t i = 0; i < gap.packets; ++i) {
    const auto psn = static_cast<std::uint32_t>((gap.psn + i) & wire::Psn::kMask);
    const auto behind = damaged.lower_bound({gap.session, direction, psn, gap.frame});
    if (behind == damaged.begin()) return false;
    const DamagedFrame newest = *std::prev(behind);
    if (newest <= DamagedFrame{gap.session, direction, psn, fact.since}) return false;
    taken.push_back(newest);
  }
  for (const DamagedFrame& frame : taken) damaged.erase(frame);
  return true;
}

}  // namespace

void FindingLog::mark_late_responses() {
  std::set<GapFrame> late;
  for (const Fact& fact : facts_)
    if (fact.seen.kind == AnomalyKind::out_of_order && fact.seen.role == wire::Role::response)
      late.insert(gap_frame(fact.seen, fact.seen.related_frame));
  if (late.empty()) return;
  for (const Fact& fact : facts_)
    if (fact.seen.kind == AnomalyKind::psn_gap && fact.seen.role == wire::Role::response)
      late.erase(gap_frame(fact.seen, fact.seen.frame));
  for (Fact& fact : facts_)
    fact.late = fact.seen.kind == AnomalyKind::retransmission &&
                late.contains(gap_frame(fact.seen, fact.seen.related_frame));
}

void FindingLog::mark_frames_damaged_here() {
  std::map<std::tuple<std::uint32_t, std::uint8_t, std::uint32_t>, Fact*> damaged;  // by PSN
  for (Fact& fact : facts_)
    if (fact.seen.kind == AnomalyKind::bad_icrc && fact.seen.role == wire::Role::request)
      damaged[{fact.seen.session, fact.seen.direction, fact.seen.psn}] = &fact;
  if (damaged.empty()) return;
  for (const Fact& fact : facts_) {
    const Anomaly& gap = fact.seen;
    if (gap.kind != AnomalyKind::psn_gap || gap.cause != Cause::missing_in_capture) continue;
    auto one = damaged.lower_bound({gap.session, gap.direction, gap.psn});
    for (; one != damaged.end(); ++one) {
      Anomaly& frame = one->second->seen;
      const bool within = frame.session == gap.session && frame.direction == gap.direction &&
                          frame.psn - gap.psn < gap.packets;
      if (!within) break;
      frame.cause = Cause::missing_in_capture;
    }
  }
}

void FindingLog::mark_damaged_gaps() {
  std::set<DamagedFrame> damaged;
  std::vector<Fact*> gaps;
  for (Fact& fact : facts_) {
    const Anomaly& seen = fact.seen;
    if (seen.kind == AnomalyKind::bad_icrc)
      damaged.insert({seen.session, seen.direction, seen.psn, seen.frame});
    else if (seen.kind == AnomalyKind::psn_gap && seen.cause != Cause::missing_in_capture)
      gaps.push_back(&fact);
  }
  if (damaged.empty()) return;
  std::ranges::stable_sort(gaps, {}, [](const Fact* gap) { return gap->seen.frame; });
  for (Fact* const gap : gaps) gap->damaged = take_skipped(damaged, *gap);
}

}  // namespace lw::analysis
