// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/finding_log.h"

#include <map>
#include <set>
#include <tuple>

namespace lw::analysis {
namespace {

/// The gap in a READ's response that a fact is about: where its connection shows it.
using GapFrame = std::tuple<std::uint32_t, std::uint8_t, std::uint64_t>;

GapFrame gap_frame(const Anomaly& seen, std::uint64_t frame) {
  return {seen.session, seen.direction, frame};
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

}  // namespace lw::analysis
