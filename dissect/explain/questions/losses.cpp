// SPDX-License-Identifier: BSD-3-Clause
// What was lost, late or copied, and where? Sent again, and why.
#include "dissect/explain/questions/losses.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity.h"
#include "dissect/explain/questions/capture.h"
#include "dissect/explain/questions/retries.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::AnomalyKind;
using analysis::Cause;
using analysis::Certainty;
using Group = AnomalyGroup;

// The sentences about the groups.

/// "either lost before the capture point, or missing in the capture; a capture at the other end
/// tells".
std::string either_text(const Group& group) {
  std::string text;
  for (const analysis::Hypothesis& one : group.alternatives)
    text += fmt::format("{}{}", text.empty() ? "either " : ", or ", name_of(one));
  return text + "; a capture at the other end tells";
}

/// What happens to a message of a transport that repeats nothing.
std::string fate_text(const Facts& facts, const Group& group) {
  for (const std::uint32_t number : group.sessions) {
    const auto& flow =
        any_flow(facts.evidence.analyst, facts.evidence.analyst.sessions()[number - 1]);
    if (flow.transport != wire::Transport::uc) return {};
  }
  std::uint64_t messages = 0;
  for (const auto& [key, count] : facts.evidence.messages)
    if (group.sessions.contains(std::get<0>(key))) messages += count.incomplete;
  if (messages == 0) return {};
  return fmt::format(
      " UC repeats nothing, and a receiver drops a message with a hole: {} not completed.",
      messages == 1 ? "1 message was" : fmt::format("{} messages were", messages));
}

std::string gap_text(const Facts& facts, const Group& group) {
  if (is_sample(facts)) return {};  // of which frames a sample lacks, nothing follows
  const std::string packets = packets_of(group);
  const bool one = group.packets == 1;
  if (!group.is_certain())
    return fmt::format("{} {} missing: {}.{}", packets, one ? "is" : "are", either_text(group),
                       fate_text(facts, group));
  if (group.cause == Cause::trimmed) return {};  // the trimmed packets cover it
  if (!group.where.empty() && group.cause == Cause::missing_in_capture)
    return fmt::format(
        "The capture at {} misses {}: another point, or the peer's answers, show that {} passed "
        "it.",
        group.where, packets, verb(group.packets, "it", "they"));
  if (!group.where.empty() && group.cause == Cause::lost_before_capture)
    return fmt::format("{} {} lost {}: no point has {}, and {}.", packets, one ? "was" : "were",
                       group.where, one ? "it" : "them",
                       group.role == wire::Role::response ? "the requester asked again"
                                                          : "the sender retransmitted");
  if (group.cause == Cause::missing_in_capture)
    return fmt::format(
        "The capture misses {}: the other end acknowledged {}, so the network has "
        "carried {}, and only the capturing lost {}.",
        packets, one ? "it" : "them", one ? "it" : "them", one ? "it" : "them");
  if (group.cause == Cause::lost_before_capture)
    return fmt::format("{} {} lost before the capture point: the capture skips {} PSN{}, and {}.",
                       packets, one ? "was" : "were", one ? "its" : "their", one ? "" : "s",
                       group.role == wire::Role::response ? "the requester asked again"
                                                          : "the sender retransmitted");
  return {};
}

std::string_view reason_of(Cause cause) noexcept {
  switch (cause) {
    case Cause::timeout:
      return "a timer";
    case Cause::sequence_nak:
      return "a NAK";
    case Cause::receiver_not_ready:
      return "an RNR NAK";
    case Cause::response_lost:
      return "a lost response";
    case Cause::ack_lost:
      return "a lost ACK";
    case Cause::timer_too_short:
      return "a timer that is shorter than the round trip";
    case Cause::answer_wrong:
      return "an answer that the requester does not take";
    default:
      return name_of(cause);
  }
}

/// "a timer, or a NAK, or an RNR NAK".
std::string reasons_of(const Group& group) {
  std::string text;
  for (const analysis::Hypothesis& one : group.alternatives)
    text += fmt::format("{}{}", text.empty() ? "" : ", or ", reason_of(one.cause));
  return text;
}

bool may_be(const Group& group, AnomalyKind kind, Cause cause) {
  return std::ranges::find(group.alternatives, analysis::Hypothesis{kind, cause}) !=
         group.alternatives.end();
}

/// Of recoveries with several explanations.
std::string undecided_begin(const Facts& facts, const Group& group) {
  const std::string times = counted(group.events, "time");
  if (may_be(group, AnomalyKind::retransmission, Cause::peer_stopped))
    return fmt::format(
        "{} expired, and no answer came: the other end has stopped, or the path there or back is "
        "cut",
        counted(group.events, "timeout"));
  if (may_be(group, AnomalyKind::retransmission, Cause::answer_wrong))
    return fmt::format(
        "READs were asked for again {}, though all of their answers have passed here: the "
        "requester "
        "does not take them, as the responder's packets{} have another MTU than it expects, or "
        "they "
        "were lost behind the capture point",
        times, response_sizes(facts, group));
  return fmt::format("Senders went back {} because of {}: the capture does not show which", times,
                     reasons_of(group));
}

std::string recovery_begin(const Facts& facts, const Group& group) {
  const std::uint64_t events = group.events;
  if (group.certainty == Certainty::either) return undecided_begin(facts, group);
  switch (group.cause) {
    case Cause::sequence_nak:
      return fmt::format("After NAKs \"PSN sequence error\" senders went back {}",
                         counted(events, "time"));
    case Cause::receiver_not_ready:
      return fmt::format("After RNR NAKs senders waited and went back {}", counted(events, "time"));
    case Cause::timeout:
      return fmt::format(
          "{} expired: no NAK, or no answer to one, and the sender's timer alone retransmitted",
          counted(events, "timeout"));
    case Cause::response_lost:
      return fmt::format("Requesters missed responses and asked again {}", counted(events, "time"));
    case Cause::ack_lost:
      return fmt::format(
          "{} behind the capture point: this capture has {}, and the sender did "
          "not hear {} in time",
          events == 1 ? "An ACK was lost or late"
                      : fmt::format("{} ACKs were lost or late", events),
          events == 1 ? "it" : "them", events == 1 ? "it" : "them");
    case Cause::reordered:
      return fmt::format("{} for nothing: the packets were late, not lost",
                         counted(events, "retransmission"));
    case Cause::timer_too_short:
      return fmt::format(
          "{} expired before an answer could come: the timer is shorter than the round trip, and "
          "nothing was lost",
          counted(events, "timeout"));
    case Cause::answer_wrong:
      return fmt::format(
          "{} expired, as the responder's answers were wrong and their requester does not take "
          "them",
          counted(events, "timeout"));
    default:
      return fmt::format("Senders went back {}", counted(events, "time"));
  }
}

/// Request packets of the sessions that a group happened in.
std::uint64_t requests_of(const Evidence& evidence, const Group& group) {
  std::uint64_t packets = 0;
  for (const std::uint32_t number : group.sessions)
    for (const auto& direction : evidence.analyst.sessions()[number - 1].directions)
      if (direction.stream) packets += direction.stream->counts().packets;
  return packets;
}

std::string time_text(const Group& group) {
  if (group.events == 1) return fmt::format("took {}", format_duration(group.total));
  const Duration mean = group.total / static_cast<std::int64_t>(group.events);
  return fmt::format("each took {} on average, {} at most, {} in all", format_duration(mean),
                     format_duration(group.longest), rounded(group.total));
}

std::string copy_text(const Facts&, const Group& group) {
  const std::string_view them = verb(group.packets, "it", "them");
  if (group.is_certain() && !group.where.empty())
    return fmt::format("{} {} copied at {}.", packets_of(group), verb(group.packets, "was", "were"),
                       group.where);
  if (group.is_certain())
    return fmt::format("The path copied {}: nothing asked for {} again.", packets_of(group), them);
  if (group.role == wire::Role::response)
    return fmt::format(
        "{} came again: the path copied {}, or a request was sent and answered again. The "
        "requests, which would tell, are not in the capture.",
        packets_of(group), them);
  if (group.cause == Cause::path_copy)
    return fmt::format(
        "{} came again after {} whole response: the path copied {}, or the response was lost "
        "behind the capture point, and the requester asked again. IP identifications, which would "
        "tell, are absent or all equal.",
        packets_of(group), verb(group.packets, "its", "their"), them);
  return fmt::format(
      "{} came again: the path copied {}, or the sender retransmitted {}. The answers, which would "
      "tell, are not in the capture.",
      packets_of(group), them, them);
}

bool may_be_kind(const Group& group, AnomalyKind kind) {
  return std::ranges::any_of(group.alternatives,
                             [kind](const auto& one) { return one.kind == kind; });
}

std::string recovery_text(const Facts& facts, const Group& group) {
  if (is_part_of_unanswered(facts, group)) return {};
  const std::string_view them = verb(group.packets, "it", "them");
  if (group.role == wire::Role::response && group.is_certain())
    return fmt::format(
        "{} came again: the requester sent requests again, and they were answered again. The "
        "requests are not in the capture.",
        packets_of(group));
  if (group.role == wire::Role::response)
    return fmt::format(
        "{} came again: the request was retransmitted, or the path copied {}. The requests, which "
        "would tell, are not in the capture.",
        packets_of(group), verb(group.packets, "it", "one of them"));
  if (may_be_kind(group, AnomalyKind::duplicate)) return copy_text(facts, group);
  if (may_be_kind(group, AnomalyKind::out_of_order))
    return fmt::format(
        "{} came behind later ones: the sender retransmitted {}, or the path delayed {}. The "
        "answers, "
        "which would tell, are not in the capture, or from before it.",
        packets_of(group), them, them);
  const double share =
      100 * static_cast<double>(group.packets) /
      static_cast<double>(std::max<std::uint64_t>(requests_of(facts.evidence, group), 1));
  return fmt::format(
      "{}. That made the sender retransmit {}, {:.3g} % of the requests of {}, and {}.",
      recovery_begin(facts, group), counted(group.packets, "packet"), share,
      group.sessions.size() == 1
          ? fmt::format("connection {}", *group.sessions.begin())
          : fmt::format("the {} connections concerned", group.sessions.size()),
      time_text(group));
}

/// A NAK that asked for packets, where no recovery tells of it.
std::string nak_text(const Facts& facts, const Group& group) {
  if (group.cause == Cause::fatal_nak) return {};  // a question of validity
  const bool covered =
      group.is_certain() && std::ranges::any_of(facts.groups, [&](const Group& other) {
        return other.point == group.point && (other.kind == AnomalyKind::retransmission ||
                                              other.kind == AnomalyKind::out_of_order);
      });
  if (covered) return {};
  if (requests_of(facts.evidence, group) == 0)
    return fmt::format(
        "{} \"PSN sequence error\" asked for packets. The requests, which would tell what was lost "
        "and retransmitted, are not in the capture.",
        counted(group.events, "NAK"));
  return fmt::format(
      "{} \"PSN sequence error\" asked for packets, and no packet was retransmitted.",
      counted(group.events, "NAK"));
}

std::string reorder_text(const Facts&, const Group& group) {
  if (group.cause == Cause::reordered_behind)
    return fmt::format(
        "{} {} overtaken behind the capture point: the receiver's NAKs ask for {}, and its answers "
        "show that {} came, sooner than what was retransmitted can have come.",
        packets_of(group), verb(group.packets, "was", "were"), verb(group.packets, "it", "them"),
        verb(group.packets, "it", "they"));
  if (!group.where.empty())
    return fmt::format("{} came late at {}: behind packets that were sent after {}.",
                       packets_of(group), group.where, verb(group.packets, "it", "them"));
  const std::string by = group.longest > Duration{}
                             ? fmt::format(", by {} at most", format_duration(group.longest))
                             : std::string();
  return fmt::format(
      "{} came late, behind packets that were sent after {}{}: the path changes the "
      "order.{}",
      packets_of(group), verb(group.packets, "it", "them"), by,
      group.cause == Cause::sequence_nak ? " The receiver took that for a loss and sent a NAK."
                                         : "");
}

/// The first and the last point of "near > far".
std::pair<std::string, std::string> ends_of_place(const std::string& where) {
  const std::size_t mark = where.find(" > ");
  if (mark == std::string::npos) return {where, {}};
  return {where.substr(0, mark), where.substr(mark + 3)};
}

std::string lost_behind_text(const Facts&, const Group& group) {
  const std::string_view it = verb(group.packets, "it", "them");
  const std::string_view were = verb(group.packets, "was", "were");
  if (group.cause == Cause::lost_between) {
    const auto [from, to] = ends_of_place(group.where);
    return fmt::format("{} {} lost between {} and {}: {} has {}, and {} does not.",
                       packets_of(group), were, from, to, from, it, to);
  }
  if (!group.where.empty())
    return fmt::format(
        "{} {} lost {}: all points have {}, and the receiver's NAKs ask for {}. The receiver lost "
        "{}, "
        "or its last cable; the path between the points did not.",
        packets_of(group), were, group.where, it, it, it);
  return fmt::format(
      "{} {} lost behind the capture point, or overtaken there: the capture has {}, and the "
      "receiver's NAKs ask for {}.",
      packets_of(group), verb(group.packets, "was", "were"), it, it);
}

std::string trimmed_text(const Facts&, const Group& group) {
  const std::string packets = packets_of(group);
  if (!group.is_certain())
    return fmt::format(
        "{} {} shorter than {} IP length says ({}), and no longer frame is whole: a switch trimmed "
        "{}, "
        "as its queue was full, or a mirror cuts all frames.",
        packets, verb(group.packets, "is", "are"), verb(group.packets, "its", "their"),
        details_of(group), verb(group.packets, "it", "them"));
  return fmt::format(
      "{} {} trimmed in the network ({}): a switch cut off the data in place of dropping {}, as "
      "its queue "
      "was full. As many bytes were captured as were on the wire, and other frames as long are "
      "whole.",
      packets, verb(group.packets, "was", "were"), details_of(group),
      verb(group.packets, "the packet", "the packets"));
}

std::string storm_text(const Facts& facts, const Group& group) {
  if (is_part_of_unanswered(facts, group)) return {};
  return fmt::format(
      "{} sent for at least the fourth time: a sender gives up after its number of "
      "retries, often 7, and the connection ends.",
      group.events == 1 ? "A packet was" : fmt::format("{} packets were", group.events));
}

constexpr Telling kLossTellings[] = {
    {AnomalyKind::psn_gap, Severity::harm, gap_text},
    {AnomalyKind::lost_after_capture, Severity::harm, lost_behind_text},
    {AnomalyKind::out_of_order, Severity::harm, reorder_text},
    {AnomalyKind::duplicate, Severity::harm, copy_text},
    {AnomalyKind::retransmission, Severity::harm, recovery_text},
    {AnomalyKind::nak, Severity::harm, nak_text},
    {AnomalyKind::retry_storm, Severity::harm, storm_text},
    {AnomalyKind::trimmed, Severity::harm, trimmed_text},
};

// The answer.

struct Losses {
  std::uint64_t before = 0, behind = 0, either = 0, late = 0, copied = 0, again = 0, trimmed = 0;
  std::uint64_t acks = 0;                             // that did not arrive
  std::map<std::string, std::uint64_t> lost_at = {};  // by place, where several points tell
  std::uint64_t open = 0;                             // requests without an answer at the end
  bool sample = false, followed = true;

  [[nodiscard]] bool any() const noexcept {
    return before + behind + either + late + copied + again + trimmed > 0 || !lost_at.empty();
  }
};

Losses losses_of(const Facts& facts) {
  Losses all{.sample = is_sample(facts), .followed = facts.follows_connections()};
  for (const Group& group : facts.groups) {
    const bool certain = group.is_certain();
    const bool lost_before =
        group.kind == AnomalyKind::psn_gap && certain && group.cause == Cause::lost_before_capture;
    const bool lost = lost_before || group.kind == AnomalyKind::lost_after_capture;
    if (lost && certain && !group.where.empty()) {
      all.lost_at[group.where] += group.packets;
      continue;
    }
    if (lost_before) all.before += group.packets;
    if (group.kind == AnomalyKind::psn_gap && !certain) all.either += group.packets;
    if (group.kind == AnomalyKind::lost_after_capture) all.behind += group.packets;
    if (group.kind == AnomalyKind::out_of_order) all.late += group.packets;
    if (group.kind == AnomalyKind::duplicate) all.copied += group.packets;
    if (group.kind == AnomalyKind::trimmed) all.trimmed += group.packets;
    if (group.is(AnomalyKind::retransmission, Cause::ack_lost)) all.acks += group.events;
    if (group.kind == AnomalyKind::retransmission && !is_part_of_unanswered(facts, group))
      all.again += group.packets;
    if (group.kind == AnomalyKind::unanswered) all.open += group.packets;
  }
  return all;
}

/// "4 lost before the capture point, 3 ACKs lost behind it, 54 retransmitted".
std::string parts_of(const Losses& all) {
  std::vector<std::string> parts;
  const auto add = [&parts](std::uint64_t count, std::string_view text) {
    if (count > 0) parts.push_back(fmt::format(fmt::runtime(text), count));
  };
  for (const auto& [where, count] : all.lost_at)
    parts.push_back(fmt::format("{} lost {}{}", count, where.contains(" > ") ? "at " : "", where));
  add(all.before, "{} lost before the capture point");
  add(all.behind, "{} lost behind the capture point, or overtaken there");
  add(all.trimmed, "{} trimmed by a switch");
  add(all.either, "{} missing, lost or not captured");
  if (all.acks > 0)
    parts.push_back(counted(all.acks, "ACK") + " lost or late behind the capture point");
  add(all.late, "{} late");
  add(all.copied, "{} copied");
  add(all.again, "{} retransmitted");
  return fmt::format("{}", fmt::join(parts, ", "));
}

constexpr AnswerRow<Losses> kLossRows[] = {
    {[](const Losses& l) { return !l.followed; }, Health::cannot_tell,
     "no packet of a connection was followed"},
    {[](const Losses& l) { return l.sample; }, Health::cannot_tell,
     "the capture is a sample, so a missing packet need not be lost"},
    {[](const Losses& l) { return l.any(); }, Health::wrong, "{parts}"},
    {[](const Losses& l) { return l.open > 0; }, Health::cannot_tell,
     "what got no answer may have been lost, and so may its answers; nothing else is missing"},
    {[](const Losses&) { return true; }, Health::fine, "nothing: each PSN came once, and in order"},
};

}  // namespace

Answer ask_losses(const Facts& facts) {
  const Losses all = losses_of(facts);
  Words words;
  words.add("parts", parts_of(all));
  Answer answer =
      answer_of<Losses>(OperatorQuestion::losses, kLossRows, all, words,
                        facts.statements_about(OperatorQuestion::losses, kLossTellings));
  if (all.sample) answer.health = Health::cannot_tell;
  return answer;
}

}  // namespace lw::dissect
