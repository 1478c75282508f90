// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/finding_log.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
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

/// The requests of one direction: session and direction.
using Requests = std::pair<std::uint32_t, std::uint8_t>;

Requests requests_of(const Anomaly& seen) { return {seen.session, seen.direction}; }

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

/// Whether a sender repeats several requests in a row.
bool is_request_recovery(const Anomaly& seen) {
  return seen.kind == AnomalyKind::retransmission && seen.role == wire::Role::request &&
         seen.packets > 1;
}

/// Whether a recovery skipped packets that may have been acknowledged by then.
bool is_doubtful_gap(const Fact& fact) {
  return fact.seen.kind == AnomalyKind::psn_gap && fact.again && !fact.sent;
}

/// Whether two PSNs of a connection are of the same time: PSNs come again after 2^24.
bool is_near(wire::Psn one, wire::Psn other) {
  constexpr std::int32_t kFar = 65536;
  const auto distance = wire::Psn::distance(one, other);
  return distance > -kFar && distance < kFar;
}

}  // namespace

void FindingLog::add_to(CaptureFacts& capture) const noexcept {
  for (const Fact& fact : facts_) {
    const bool of_request = fact.seen.role == wire::Role::request;
    const bool again = fact.seen.kind == AnomalyKind::retransmission;
    capture.timeouts += again && fact.seen.cause == Cause::timeout;
    const bool copy = fact.seen.kind == AnomalyKind::duplicate;
    capture.copies += copy && of_request;
    capture.unasked_copies +=
        copy && (of_request ? fact.unasked : fact.seen.cause == Cause::path_copy);
    capture.late += fact.seen.kind == AnomalyKind::out_of_order;
    capture.response_recoveries += again && of_request && fact.seen.cause == Cause::response_lost;
  }
}

void FindingLog::mark() {
  mark_late_responses();
  mark_frames_damaged_here();
  mark_damaged_gaps();
  mark_trimmed_gaps();
  mark_gaps_sent_again();
  mark_overtaken();
  mark_passed_gaps();
}

std::vector<std::uint32_t> FindingLog::by_connection() const {
  std::vector<std::uint32_t> places(facts_.size());
  std::iota(places.begin(), places.end(), 0U);
  std::ranges::stable_sort(places, {},
                           [this](std::uint32_t place) { return requests_of(facts_[place].seen); });
  return places;
}

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

void FindingLog::mark_damaged_gaps() { mark_gaps_of(AnomalyKind::bad_icrc, &Fact::damaged); }

void FindingLog::mark_trimmed_gaps() { mark_gaps_of(AnomalyKind::trimmed, &Fact::trimmed); }

/// Marks the gaps whose packets are frames of a kind of anomaly.
void FindingLog::mark_gaps_of(AnomalyKind kind, bool Fact::* mark) {
  std::set<DamagedFrame> damaged;
  std::vector<Fact*> gaps;
  for (Fact& fact : facts_) {
    const Anomaly& seen = fact.seen;
    if (seen.kind == kind && seen.certainty == Certainty::certain)
      damaged.insert({seen.session, seen.direction, seen.psn, seen.frame});
    else if (seen.kind == AnomalyKind::psn_gap && seen.cause != Cause::missing_in_capture)
      gaps.push_back(&fact);
  }
  if (damaged.empty()) return;
  std::ranges::stable_sort(gaps, {}, [](const Fact* gap) { return gap->seen.frame; });
  for (Fact* const gap : gaps) gap->*mark = take_skipped(damaged, *gap);
}

void FindingLog::mark_passed_gaps() {
  const auto is_early_gap = [](const Fact& fact) {
    return fact.early && fact.seen.kind == AnomalyKind::psn_gap &&
           fact.seen.role == wire::Role::request;
  };
  // The last PSN that each frame skips, and that the receiver has got.
  std::map<std::pair<Requests, std::uint64_t>, wire::Psn> got;
  for (const Fact& fact : facts_) {
    if (!is_early_gap(fact) || fact.seen.cause != Cause::missing_in_capture) continue;
    const wire::Psn psn{fact.seen.psn};
    const auto [last, added] = got.emplace(std::pair{requests_of(fact.seen), fact.seen.frame}, psn);
    if (wire::Psn::distance(last->second, psn) > 0) last->second = psn;
  }
  for (Fact& fact : facts_) {
    if (!is_early_gap(fact) || got.empty()) continue;
    const auto last = got.find({requests_of(fact.seen), fact.seen.frame});
    fact.passed =
        last != got.end() && wire::Psn::distance(wire::Psn{fact.seen.psn}, last->second) > 0;
  }
}

void FindingLog::mark_overtaken() {
  std::map<Requests, std::map<std::uint64_t, const Anomaly*>> recoveries;  // by frame
  for (const Fact& fact : facts_)
    if (fact.seen.kind == AnomalyKind::retransmission && fact.seen.role == wire::Role::request)
      recoveries[requests_of(fact.seen)].emplace(fact.seen.frame, &fact.seen);
  for (Fact& fact : facts_) {
    const Anomaly& seen = fact.seen;
    const bool is_late = seen.kind == AnomalyKind::out_of_order || fact.filled != 0;
    const auto of_sender = recoveries.find(requests_of(seen));
    if (!is_late || seen.role != wire::Role::request || of_sender == recoveries.end()) continue;
    const auto next = of_sender->second.upper_bound(std::max(fact.filled, seen.last_frame));
    fact.overtaken = next != of_sender->second.end() && next->second->packets > 1 &&
                     wire::Psn{next->second->psn} ==
                         wire::Psn{seen.psn} + static_cast<std::uint32_t>(seen.packets);
  }
}

void FindingLog::mark_gaps_sent_again() {
  std::vector<Fact*> newest_first;
  for (Fact& fact : facts_)
    if (is_request_recovery(fact.seen) || is_doubtful_gap(fact)) newest_first.push_back(&fact);
  std::ranges::stable_sort(newest_first, std::greater{},
                           [](const Fact* one) { return one->seen.frame; });
  // The lowest PSN that a later recovery begins with: only what is before it may be acknowledged.
  std::map<Requests, wire::Psn> acknowledged;
  std::vector<Fact> taken;
  for (Fact* const fact : newest_first) {
    Anomaly& seen = fact->seen;
    const auto behind = acknowledged.find(requests_of(seen));
    const wire::Psn psn{seen.psn};
    if (seen.kind == AnomalyKind::retransmission) {
      if (behind == acknowledged.end())
        acknowledged.emplace(requests_of(seen), psn);
      else if (!is_near(psn, behind->second) || wire::Psn::distance(behind->second, psn) < 0)
        behind->second = psn;
      continue;
    }
    if (behind == acknowledged.end() || !is_near(psn, behind->second)) continue;
    const auto before = static_cast<std::uint64_t>(
        std::max(wire::Psn::distance(psn, behind->second), std::int32_t{0}));
    if (before >= seen.packets) continue;
    if (before > 0) {
      taken.push_back(*fact);
      taken.back().seen.packets = before;
    }
    seen.psn = (psn + static_cast<std::uint32_t>(before)).value();
    seen.packets -= before;
    fact->sent = true;
  }
  for (Fact& part : taken) add(std::move(part));
}

}  // namespace lw::analysis
