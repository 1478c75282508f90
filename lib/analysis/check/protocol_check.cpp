// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/check/protocol_check.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "analysis/findings/facts.h"

namespace lw::analysis {
namespace {

using wire::Role;

constexpr auto kGap = AnomalyKind::psn_gap;
constexpr auto kAgain = AnomalyKind::retransmission;
constexpr auto kLate = AnomalyKind::out_of_order;
constexpr Hypotheses kGapOrLate{{kGap, Cause::lost_before_capture}, {kLate, Cause::none}};
constexpr Hypotheses kGapOrMissing{{kGap, Cause::lost_before_capture},
                                   {kGap, Cause::missing_in_capture}};
constexpr Hypotheses kTimerFirst{{kAgain, Cause::timeout}, {kAgain, Cause::sequence_nak}};
constexpr Hypotheses kNakFirst{{kAgain, Cause::sequence_nak}, {kAgain, Cause::timeout}};
constexpr Hypotheses kBehind{{AnomalyKind::lost_after_capture, Cause::lost_behind},
                             {kLate, Cause::reordered_behind}};
constexpr Hypotheses kLateOrAgain{{kLate, Cause::none}, {kAgain, Cause::none}};
constexpr Hypotheses kNakOrLate{{kAgain, Cause::sequence_nak}, {kLate, Cause::none}};
constexpr Hypotheses kResponseOrNak{{kAgain, Cause::response_lost}, {kAgain, Cause::sequence_nak}};
constexpr std::uint64_t kEver = ~std::uint64_t{0};

bool is_request(const Anomaly& finding) noexcept { return finding.role == Role::request; }

/// Whether a finding holds only if the answers are those to the requests.
bool depends_on_pair(const Anomaly& finding) noexcept {
  switch (finding.kind) {
    case AnomalyKind::retransmission:
    case AnomalyKind::lost_after_capture:
    case AnomalyKind::ack_of_unsent:
    case AnomalyKind::unanswered:
    case AnomalyKind::stall:
    case AnomalyKind::read_span:
      return true;
    case AnomalyKind::psn_gap:
      return !is_request(finding) || finding.cause == Cause::missing_in_capture;
    case AnomalyKind::out_of_order:
    case AnomalyKind::duplicate:
      return !is_request(finding) || finding.cause != Cause::none;
    default:
      return false;
  }
}

/// The median of the times by which requests came late; nothing: they are too few.
std::optional<Duration> median_lateness(std::span<const Anomaly> findings) {
  std::vector<Duration> times;
  for (const Anomaly& one : findings)
    if (is_request(one) && one.kind == kLate && one.cause == Cause::none)
      times.push_back(one.duration);
  if (times.size() < Disorder::kEnough) return std::nullopt;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace

std::string_view name_of(ProtocolRule rule) noexcept {
  constexpr std::string_view kNames[] = {
      "the pair of flows is a guess",
      "an ACK came before its packet",
      "no such packet is there",
      "a packet called lost is in the capture",
      "a packet called lost was acknowledged, and did not come again",
      "a packet called lost came once more than it was retransmitted",
      "a packet called retransmitted is new",
      "the frame that the cause names is of another kind",
      "a NAK acknowledges all before its PSN",
      "one NAK explains one recovery",
      "a timer repeats from the oldest packet that is not acknowledged",
      "no answer acknowledged it before",
      "an answer acknowledges it",
      "no READ or atomic is retransmitted",
      "no timer is that short",
      "it came far later than others, and a NAK asked for it",
      "a NAK that explains no other recovery asks for it"};
  return kNames[static_cast<std::size_t>(rule)];
}

ProtocolCheck::ProtocolCheck(const PassageLog& log, const CheckPremises& premises,
                             std::span<const Anomaly> findings)
    : log_(log), premises_(premises), usual_lateness_(median_lateness(findings)) {
  for (const Anomaly& one : findings) {
    if (!is_request(one)) continue;
    if (one.kind == kAgain) recoveries_.push_back(&one);
    if (one.kind == kGap) gaps_.push_back(&one);
    const bool single =
        one.kind == kLate || (one.kind == AnomalyKind::duplicate && !premises.ids_tell_copies);
    if (single && one.packets == 1) singles_[log.unwrap(one.psn, one.frame)].push_back(one.frame);
  }
  std::ranges::stable_sort(recoveries_, {}, &Anomaly::frame);
  std::ranges::stable_sort(gaps_, {}, &Anomaly::frame);
  for (const Anomaly* const one : recoveries_)
    if (one->cause == Cause::sequence_nak) first_use_.emplace(one->related_frame, one->frame);
}

std::optional<Contradiction> ProtocolCheck::against(const Anomaly& finding) const {
  if (finding.certainty != Certainty::certain) return std::nullopt;
  if (const Found found = against_pair(finding)) return found;
  if (!log_.is_whole() || log_.runs().empty()) return std::nullopt;
  return against_packets(finding);
}

ProtocolCheck::Found ProtocolCheck::against_pair(const Anomaly& finding) const {
  constexpr std::uint64_t kEnough = 2;
  if (!depends_on_pair(finding)) return std::nullopt;
  if (premises_.guessed_pair) return Contradiction{.rule = ProtocolRule::guessed_pair};
  if (premises_.complete && !premises_.began_before && log_.early_acks() >= kEnough)
    return Contradiction{ProtocolRule::ack_before_packet, log_.first_early().frame};
  return std::nullopt;
}

ProtocolCheck::Found ProtocolCheck::against_packets(const Anomaly& finding) const {
  switch (finding.kind) {
    case AnomalyKind::nak:
    case AnomalyKind::rnr_nak:
      return against_answer(finding);
    case AnomalyKind::lost_after_capture:
      return against_loss_behind(finding);
    case AnomalyKind::unanswered:
      return against_silence(finding);
    case AnomalyKind::bad_icrc:
      return is_request(finding) ? against_damage(finding) : std::nullopt;
    default:
      break;
  }
  if (!is_request(finding)) return std::nullopt;
  switch (finding.kind) {
    case AnomalyKind::psn_gap:
      if (finding.cause == Cause::lost_before_capture) return against_loss(finding);
      return finding.cause == Cause::missing_in_capture ? against_missing(finding) : std::nullopt;
    case AnomalyKind::retransmission:
      return against_recovery(finding);
    case AnomalyKind::out_of_order:
    case AnomalyKind::duplicate:
      return finding.cause == Cause::reordered_behind ? against_loss_behind(finding)
                                                      : against_order(finding);
    default:
      return std::nullopt;
  }
}

/// Returns a run whose packet with `psn` passed at `from` or later, and before `to`; null: none did
/// for certain.
const PassageLog::Run* ProtocolCheck::passed(std::uint64_t psn, std::uint64_t from,
                                             std::uint64_t to) const {
  for (const Run& run : log_.around(psn)) {
    if (run.first >= to) break;
    const std::uint64_t latest = psn == run.psn ? run.first : run.last;
    if (run.covers(psn) && run.first >= from && latest < to) return &run;
  }
  return nullptr;
}

/// Whether `psn` may have passed at `from` or later, and before `to`.
bool ProtocolCheck::may_have_passed(std::uint64_t psn, std::uint64_t from, std::uint64_t to) const {
  return std::ranges::any_of(log_.around(psn), [=](const Run& run) {
    const std::uint64_t latest = psn == run.psn ? run.first : run.last;
    return run.covers(psn) && latest >= from && run.first < to;
  });
}

/// Returns the newest run that began before `to` and whose packet with `psn` passed; null: none
/// did.
const PassageLog::Run* ProtocolCheck::newest_passage(std::uint64_t psn, std::uint64_t to) const {
  const Run* newest = nullptr;
  for (const Run& run : log_.around(psn)) {
    if (run.first >= to) break;
    if (run.covers(psn)) newest = &run;
  }
  return newest;
}

bool ProtocolCheck::has_fetch(std::uint64_t psn, std::uint64_t end) const {
  return std::ranges::any_of(log_.around(psn), [=](const Run& run) {
    return run.fetches && run.psn < end && run.end > psn;
  });
}

/// The newest recovery that began at `frame` or before; null: none did.
const Anomaly* ProtocolCheck::recovery_before(std::uint64_t frame) const {
  const auto behind = std::ranges::upper_bound(recoveries_, frame, {}, &Anomaly::frame);
  return behind == recoveries_.begin() ? nullptr : *std::prev(behind);
}

/// The NAKs behind frame `from` and before frame `to`.
std::span<const PassageLog::Nak> ProtocolCheck::naks_between(std::uint64_t from,
                                                             std::uint64_t to) const {
  const auto naks = log_.naks();
  const auto begin = std::ranges::upper_bound(naks, from, {}, &PassageLog::Nak::frame);
  return {begin, std::ranges::lower_bound(begin, naks.end(), to, {}, &PassageLog::Nak::frame)};
}

/// Whether a NAK between two frames asks for a packet, or for one before it.
bool ProtocolCheck::was_asked_for(std::uint64_t psn, std::uint64_t from, std::uint64_t to) const {
  return std::ranges::any_of(naks_between(from, to),
                             [=](const PassageLog::Nak& nak) { return nak.psn <= psn; });
}

/// Whether a finding says that a packet was missing at a frame.
bool ProtocolCheck::is_in_gap(std::uint64_t psn, std::uint64_t frame) const {
  const auto first = std::ranges::lower_bound(gaps_, frame, {}, &Anomaly::frame);
  return std::any_of(first, gaps_.end(), [&](const Anomaly* gap) {
    const std::uint64_t begin = log_.unwrap(gap->psn, gap->frame);
    return gap->frame == frame && psn >= begin && psn < begin + gap->packets;
  });
}

// Each of the following says what contradicts a finding of one kind.

ProtocolCheck::Found ProtocolCheck::against_loss(const Anomaly& gap) const {
  if (premises_.began_before) return std::nullopt;
  const Run* const shown = log_.begin_at(gap.frame);
  const Anomaly* const recovery = recovery_before(gap.frame);
  const bool ends_recovery = recovery != nullptr && recovery->frame == gap.frame;
  const std::uint64_t psn = log_.unwrap(gap.psn, gap.frame), end = psn + gap.packets;
  if (shown == nullptr || (shown->psn < end && !ends_recovery))
    return Contradiction{ProtocolRule::packet_is_not_there, gap.frame};
  for (const std::uint64_t one : {psn, end - 1}) {
    const Run* const before = passed(one, 0, gap.frame);
    if (before == nullptr) continue;
    // It came before: a recovery was to send it again, and it is none of those that came in it.
    const bool in_recovery =
        recovery != nullptr && log_.unwrap(recovery->psn, recovery->frame) <= one;
    const Run* const held = in_recovery ? passed(one, recovery->frame, gap.frame) : nullptr;
    if (held != nullptr)
      return Contradiction{ProtocolRule::packet_was_held, held->first, kGapOrLate};
    if (!in_recovery && premises_.answered && !was_asked_for(one, before->first, gap.frame))
      return Contradiction{ProtocolRule::packet_was_held, before->first, kGapOrLate};
  }
  if (!may_have_passed(psn, gap.frame, kEver))
    return premises_.complete && log_.acked() > psn && !may_have_passed(psn, 0, gap.frame)
               ? Found(Contradiction{ProtocolRule::packet_never_came, 0, kGapOrMissing})
               : std::nullopt;
  const auto singles = singles_.find(psn);
  if (singles == singles_.end()) return std::nullopt;
  for (const std::uint64_t frame : singles->second) {
    const bool other =
        passed(psn, gap.frame, frame) != nullptr || passed(psn, frame + 1, kEver) != nullptr;
    if (frame > gap.frame && other)
      return Contradiction{ProtocolRule::came_once_more, frame, kGapOrLate};
  }
  return std::nullopt;
}

ProtocolCheck::Found ProtocolCheck::against_missing(const Anomaly& gap) const {
  const std::uint64_t psn = log_.unwrap(gap.psn, gap.frame), end = psn + gap.packets;
  for (const std::uint64_t one : {psn, end - 1})
    if (const Run* const held = passed(one, 0, kEver))
      return Contradiction{ProtocolRule::packet_was_held, held->first, kGapOrMissing};
  if (log_.acked() >= end || log_.early_acks() > 0) return std::nullopt;
  return Contradiction{.rule = ProtocolRule::not_acknowledged, .alternatives = kGapOrMissing};
}

ProtocolCheck::Found ProtocolCheck::against_loss_behind(const Anomaly& loss) const {
  const PassageLog::Nak* const nak = log_.nak_at(loss.frame);
  const std::uint64_t psn = log_.unwrap(loss.psn, loss.frame);
  if (nak == nullptr || nak->answer != PassageLog::Answer::sequence_nak)
    return Contradiction{ProtocolRule::frame_of_other_kind, loss.frame};
  if (nak->psn != psn) return Contradiction{ProtocolRule::nak_acknowledges, loss.frame};
  if (passed(psn, 0, loss.frame) == nullptr && log_.at(loss.frame) != nullptr) {
    const Run* const run = log_.at(loss.frame);
    if (!run->covers(psn)) return Contradiction{ProtocolRule::packet_is_not_there, loss.frame};
  }
  const bool lost = loss.kind == AnomalyKind::lost_after_capture;
  if (lost && log_.acked() > psn && !may_have_passed(psn, loss.frame, kEver) && premises_.complete)
    return Contradiction{ProtocolRule::is_acknowledged, loss.frame, kBehind};
  return std::nullopt;
}

ProtocolCheck::Found ProtocolCheck::against_silence(const Anomaly& finding) const {
  const std::uint64_t psn = log_.unwrap(finding.psn, finding.frame);
  if (log_.acked() <= psn || has_fetch(psn, psn + 1)) return std::nullopt;
  return Contradiction{.rule = ProtocolRule::is_acknowledged};
}

/// A damaged packet that was acknowledged, and not sent again, was whole when it came.
ProtocolCheck::Found ProtocolCheck::against_damage(const Anomaly& damaged) const {
  constexpr Hypotheses kHere{{AnomalyKind::bad_icrc, Cause::missing_in_capture}};
  const std::uint64_t psn = log_.unwrap(damaged.psn, damaged.frame);
  if (damaged.cause != Cause::none || !premises_.complete || log_.acked() <= psn ||
      may_have_passed(psn, 0, kEver))
    return std::nullopt;
  return Contradiction{.rule = ProtocolRule::is_acknowledged, .alternatives = kHere};
}

ProtocolCheck::Found ProtocolCheck::against_answer(const Anomaly& answer) const {
  if (log_.runs().front().first > answer.frame) return std::nullopt;
  const PassageLog::Nak* const nak = log_.nak_at(answer.frame);
  if (nak == nullptr) return Contradiction{ProtocolRule::packet_is_not_there, answer.frame};
  const bool rnr = answer.kind == AnomalyKind::rnr_nak;
  if (rnr != (nak->answer == PassageLog::Answer::not_ready))
    return Contradiction{ProtocolRule::frame_of_other_kind, answer.frame};
  if (nak->psn == log_.unwrap(answer.psn, answer.frame)) return std::nullopt;
  return Contradiction{ProtocolRule::packet_is_not_there, answer.frame};
}

ProtocolCheck::Found ProtocolCheck::against_order(const Anomaly& finding) const {
  const std::uint64_t psn = log_.unwrap(finding.psn, finding.frame);
  const Run* const run = log_.at(finding.frame);
  if (run == nullptr || !may_have_passed(psn, finding.frame, finding.last_frame + 1))
    return Contradiction{ProtocolRule::packet_is_not_there, finding.frame};
  if (log_.highest_before(*run) <= psn)
    return Contradiction{ProtocolRule::packet_is_new, finding.frame};
  if (finding.kind == AnomalyKind::duplicate && !may_have_passed(psn, 0, finding.frame) &&
      !premises_.began_before)
    return Contradiction{ProtocolRule::packet_is_new, finding.frame};
  const bool late = finding.kind == kLate && finding.cause == Cause::none;
  return late ? against_lateness(finding, psn) : std::nullopt;
}

/// A packet that had passed before comes far later than others do, and its sender was asked for it
/// meanwhile: it may have been sent again.
ProtocolCheck::Found ProtocolCheck::against_lateness(const Anomaly& late, std::uint64_t psn) const {
  constexpr int kFarLater = 8;
  if (premises_.ids_tell_order || !usual_lateness_ || late.duration <= kFarLater * *usual_lateness_)
    return std::nullopt;
  const Run* const before = newest_passage(psn, late.frame);
  if (before == nullptr || !was_asked_for(psn, before->first, late.frame)) return std::nullopt;
  return Contradiction{ProtocolRule::may_be_sent_again, before->first, kLateOrAgain};
}

ProtocolCheck::Found ProtocolCheck::against_recovery(const Anomaly& recovery) const {
  const Run* const run = log_.at(recovery.frame);
  const std::uint64_t start = log_.unwrap(recovery.psn, recovery.frame);
  if (run == nullptr || recovery.frame > run->last)
    return Contradiction{ProtocolRule::packet_is_not_there, recovery.frame};
  const bool begins = run->first == recovery.frame;
  const std::uint64_t highest = log_.highest_before(*run);
  if (highest != 0 && run->psn >= highest && !premises_.began_before)
    return Contradiction{ProtocolRule::packet_is_new, recovery.frame};
  if (begins ? start > run->psn : start < run->psn || start >= run->end)
    return Contradiction{ProtocolRule::packet_is_not_there, recovery.frame};
  if (start < run->psn && !is_in_gap(start, recovery.frame) &&
      !may_have_passed(start, recovery.frame, kEver))
    return Contradiction{ProtocolRule::packet_is_not_there, recovery.frame};
  if (recovery.cause == Cause::response_lost && !has_fetch(start, start + recovery.packets))
    return Contradiction{ProtocolRule::no_response_asked, recovery.frame};
  return begins ? against_cause(recovery, start, *run) : std::nullopt;
}

ProtocolCheck::Found ProtocolCheck::against_cause(const Anomaly& recovery, std::uint64_t start,
                                                  const Run& run) const {
  switch (recovery.cause) {
    case Cause::sequence_nak:
    case Cause::receiver_not_ready:
      return against_nak(recovery, start, run);
    case Cause::timeout:
      return against_timer(recovery, start, run);
    case Cause::ack_lost:
      if (start < run.acked) return std::nullopt;
      return Contradiction{ProtocolRule::not_acknowledged, recovery.frame};
    case Cause::response_lost:
      return against_lost_response(recovery, start);
    default:
      return std::nullopt;
  }
}

ProtocolCheck::Found ProtocolCheck::against_lost_response(const Anomaly& recovery,
                                                          std::uint64_t start) const {
  const Run* const before = newest_passage(start, recovery.frame);
  if (premises_.selective || before == nullptr) return std::nullopt;
  for (const PassageLog::Nak& nak : naks_between(before->first, recovery.frame))
    if (nak.answer == PassageLog::Answer::sequence_nak && nak.psn <= start &&
        !first_use_.contains(nak.frame))
      return Contradiction{ProtocolRule::nak_asks_for_it, nak.frame, kResponseOrNak};
  return std::nullopt;
}

ProtocolCheck::Found ProtocolCheck::against_timer(const Anomaly& recovery, std::uint64_t start,
                                                  const Run& run) const {
  if (has_fetch(start, start + 1) || !premises_.complete) return std::nullopt;
  if (start > run.acked)
    return Contradiction{ProtocolRule::not_the_oldest, recovery.frame, kTimerFirst};
  const Run* const before = newest_passage(start, run.first);
  if (before == nullptr || stamp_difference(run.stamp, before->stamp) >= kShortestTimer)
    return std::nullopt;
  const bool asked = was_asked_for(start, 0, recovery.frame);
  return Contradiction{ProtocolRule::timer_too_soon, before->first,
                       asked ? kNakOrLate : kLateOrAgain};
}

/// The newest NAK of the PSN at which a recovery begins that no other recovery follows: it explains
/// this one; 0: there is none.
std::uint64_t ProtocolCheck::own_nak(const Anomaly& recovery, std::uint64_t start) const {
  std::uint64_t frame = 0;
  for (const PassageLog::Nak& nak : log_.naks())
    if (nak.answer == PassageLog::Answer::sequence_nak && nak.psn == start &&
        nak.frame < recovery.frame && !first_use_.contains(nak.frame))
      frame = nak.frame;
  return frame;
}

ProtocolCheck::Found ProtocolCheck::against_nak(const Anomaly& recovery, std::uint64_t start,
                                                const Run& run) const {
  const PassageLog::Nak* const nak = log_.nak_at(recovery.related_frame);
  const bool rnr = recovery.cause == Cause::receiver_not_ready;
  // One that came before the first request is not in the log.
  if (nak == nullptr && recovery.related_frame < log_.runs().front().first) return std::nullopt;
  const auto wanted = rnr ? PassageLog::Answer::not_ready : PassageLog::Answer::sequence_nak;
  if (nak == nullptr || nak->answer != wanted || nak->frame > recovery.frame)
    return Contradiction{ProtocolRule::frame_of_other_kind, recovery.related_frame};
  if (nak->psn > start && !has_fetch(start, nak->psn))
    return Contradiction{ProtocolRule::nak_acknowledges, nak->frame,
                         rnr ? Hypotheses{} : kTimerFirst};
  // Of a recovery that goes back, the first packets may have been lost. A selective sender that
  // knows of later packets by repeated NAKs may repeat another one.
  if (nak->psn < start && start > run.acked && recovery.packets == 1 && premises_.selective)
    return Contradiction{ProtocolRule::nak_acknowledges, nak->frame,
                         rnr ? Hypotheses{} : kNakFirst};
  const auto first = first_use_.find(nak->frame);
  if (!rnr && first != first_use_.end() && first->second < recovery.frame) {
    if (const std::uint64_t own = own_nak(recovery, start); own != 0)
      return Contradiction{
          ProtocolRule::nak_used_twice, first->second, {{kAgain, Cause::sequence_nak}}, own};
    return Contradiction{ProtocolRule::nak_used_twice, first->second, kTimerFirst};
  }
  return std::nullopt;
}

namespace {

/// Takes back what a finding claims. If one alternative is left, it holds.
void demote(Anomaly& finding, const Contradiction& contradiction) {
  const Hypotheses& left = contradiction.alternatives;
  if (!left.empty()) {
    finding.kind = left.begin()->kind;
    finding.cause = left.begin()->cause;
  }
  if (contradiction.related != 0) finding.related_frame = contradiction.related;
  if (std::ranges::distance(left) == 1) return;
  finding.certainty = left.empty() ? Certainty::unknown : Certainty::either;
  finding.alternatives = left;
  if (!finding.detail.empty()) finding.detail += "; ";
  finding.detail += name_of(contradiction.rule);
  if (contradiction.frame != 0) finding.detail += fmt::format(" (frame {})", contradiction.frame);
}

}  // namespace

void check_findings(const PassageLog& log, const CheckPremises& premises,
                    std::span<Anomaly> findings) {
  std::vector<std::optional<Contradiction>> against;
  const ProtocolCheck check(log, premises, findings);
  for (const Anomaly& one : findings) against.push_back(check.against(one));
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (against[i]) demote(findings[i], *against[i]);
}

}  // namespace lw::analysis
