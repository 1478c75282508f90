// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/explanation.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "capture/link_names.h"
#include "core/quantity.h"
#include "dissect/explain/capture_statements.h"
#include "dissect/explain/overview.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::Anomaly;
using analysis::AnomalyKind;
using analysis::Cause;
using analysis::Certainty;
using analysis::Session;
using analysis::StreamCounts;
using Group = AnomalyGroup;

std::string packets_of(const Group& group) {
  const bool response = group.role == wire::Role::response;
  return counted(group.packets, response ? "response packet" : "packet");
}

// What the groups say.

/// "either lost before the capture point, or missing in the capture; a capture at the other end
/// tells".
std::string either_text(const Group& group) {
  std::string text;
  for (const analysis::Hypothesis& one : group.alternatives)
    text += fmt::format("{}{}", text.empty() ? "either " : ", or ", name_of(one));
  return text + "; a capture at the other end tells";
}

std::string gap_text(const Group& group) {
  const std::string packets = packets_of(group);
  const bool one = group.packets == 1;
  if (!group.is_certain())
    return fmt::format("{} {} missing: {}.", packets, one ? "is" : "are", either_text(group));
  if (group.cause == Cause::missing_in_capture)
    return fmt::format(
        "The capture misses {}: the other end acknowledged {}, so the network has "
        "carried {}, and only the capturing lost {}.",
        packets, one ? "it" : "them", one ? "it" : "them", one ? "it" : "them");
  if (group.cause == Cause::lost_before_capture)
    return fmt::format(
        "{} {} lost before the capture point: the capture skips {} PSN{}, and {}.", packets,
        one ? "was" : "were", one ? "its" : "their", one ? "" : "s",
        group.role == wire::Role::response ? "the requester asked again" : "the sender sent again");
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

std::string recovery_begin(const Group& group) {
  const std::uint64_t events = group.events;
  if (group.certainty == Certainty::either)
    return fmt::format("Senders went back {} because of {}: the capture does not show which",
                       counted(events, "time"), reasons_of(group));
  switch (group.cause) {
    case Cause::sequence_nak:
      return fmt::format("After NAKs \"PSN sequence error\" senders went back {}",
                         counted(events, "time"));
    case Cause::receiver_not_ready:
      return fmt::format("After RNR NAKs senders waited and went back {}", counted(events, "time"));
    case Cause::timeout:
      return fmt::format(
          "{} expired: no NAK, or no answer to one, and the sender's timer alone sent again",
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
    case Cause::peer_stopped:
      return fmt::format("{} expired, and the other end answered no more",
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
  return fmt::format("each took {} on average, {} at most", format_duration(mean),
                     format_duration(group.longest));
}

std::string copy_text(const Group& group) {
  const std::string_view them = verb(group.packets, "it", "them");
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
      "{} came again: the path copied {}, or the sender sent {} again. The answers, which would "
      "tell, are not in the capture.",
      packets_of(group), them, them);
}

std::string recovery_text(const Evidence& evidence, const Group& group) {
  const std::string_view them = verb(group.packets, "it", "them");
  if (group.role == wire::Role::response && group.is_certain())
    return fmt::format(
        "{} came again: the requester sent requests again, and they were answered again. The "
        "requests are not in the capture.",
        packets_of(group));
  if (group.role == wire::Role::response)
    return fmt::format(
        "{} came again: the request was sent again, or the path copied {}. The requests, which "
        "would tell, are not in the capture.",
        packets_of(group), verb(group.packets, "it", "one of them"));
  const auto may_be = [&](AnomalyKind kind) {
    return std::ranges::any_of(group.alternatives,
                               [kind](const auto& one) { return one.kind == kind; });
  };
  if (may_be(AnomalyKind::duplicate)) return copy_text(group);
  if (may_be(AnomalyKind::out_of_order))
    return fmt::format(
        "{} came behind later ones: the sender sent {} again, or the path delayed {}. The answers, "
        "which would tell, are not in the capture, or from before it.",
        packets_of(group), them, them);
  const double share =
      100 * static_cast<double>(group.packets) /
      static_cast<double>(std::max<std::uint64_t>(requests_of(evidence, group), 1));
  return fmt::format("{}. That sent {} again, {:.3g} % of the requests of {}, and {}.",
                     recovery_begin(group), counted(group.packets, "packet"), share,
                     group.sessions.size() == 1
                         ? fmt::format("session {}", *group.sessions.begin())
                         : fmt::format("the {} sessions concerned", group.sessions.size()),
                     time_text(group));
}

std::string nak_text(const Evidence& evidence, const Group& group) {
  if (group.cause == Cause::fatal_nak)
    return fmt::format(
        "{} {} refused: {}. After such a NAK the connection is in the error state, "
        "and does nothing until the application connects again.",
        counted(group.events, "request"), verb(group.events, "was", "were"), details_of(group));
  if (requests_of(evidence, group) == 0)
    return fmt::format(
        "{} \"PSN sequence error\" asked for packets. The requests, which would tell what was lost "
        "and sent again, are not in the capture.",
        counted(group.events, "NAK"));
  return fmt::format("{} \"PSN sequence error\" asked for packets, and no packet was sent again.",
                     counted(group.events, "NAK"));
}

std::string reorder_text(const Group& group) {
  if (group.cause == Cause::reordered_behind)
    return fmt::format(
        "{} {} overtaken behind the capture point: the receiver's NAKs ask for {}, and its answers "
        "show that {} came, sooner than what was sent again can have come.",
        packets_of(group), verb(group.packets, "was", "were"), verb(group.packets, "it", "them"),
        verb(group.packets, "it", "they"));
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

std::string rnr_text(const Group& group) {
  std::set<std::string> waits;
  for (const auto& [text, count] : group.details)
    if (const std::size_t at = text.find(" wait "); at != std::string::npos)
      waits.insert(text.substr(at + 6));
  return fmt::format(
      "The receiver had no receive buffer posted {}: it refused with RNR NAKs{}. "
      "More receives, posted earlier, avoid that.",
      counted(group.events, "time"),
      waits.empty() ? "" : fmt::format(" that ask for a wait of {}", fmt::join(waits, ", ")));
}

std::string icrc_text(const Group& group) {
  const std::string frames =
      group.events == 1 ? "A frame has" : fmt::format("{} frames have", group.events);
  const std::string_view its = verb(group.events, "its", "their");
  const std::string_view it = verb(group.events, "it", "them");
  const std::string details = details_of(group).empty() ? "" : ": " + details_of(group);
  if (group.cause == Cause::missing_in_capture)
    return fmt::format(
        "{} a bad ICRC in the capture only{}. {} receiver acknowledged {}, and nobody sent {} "
        "again.",
        frames, details, verb(group.events, "Its", "Their"), it, it);
  return fmt::format("{} a bad ICRC, so {} receiver drops {}{}.", frames, its, it, details);
}

std::string unanswered_text(const Group& group) {
  if (group.cause == Cause::rnr_exhausted)
    return fmt::format(
        "{} found no receive buffer: the receiver refused with RNR NAKs until the sender's retries "
        "were used up, and the connection ended.",
        counted(group.packets, "request packet"));
  if (group.cause == Cause::fatal_nak)
    return fmt::format("{} got no answer after a fatal NAK, which ended the connection.",
                       counted(group.packets, "request packet"));
  return fmt::format(
      "{} got no answer until the end of the capture, {} later, though the other "
      "end answered before: it has stopped, or its last answers are missing.",
      counted(group.packets, "request packet"), format_duration(group.longest));
}

/// Text of kinds that need only their name and details.
std::string plain_text(const Group& group) {
  std::string text = fmt::format("{}: {}", counted(group.events, "case"), help_of(group.kind));
  const std::string details = details_of(group);
  return text + (details.empty() ? "." : fmt::format(" ({}).", details));
}

std::string lost_behind_text(const Group& group) {
  const std::string_view it = verb(group.packets, "it", "them");
  return fmt::format(
      "{} {} lost behind the capture point, or overtaken there: the capture has {}, and the "
      "receiver's NAKs ask for {}.",
      packets_of(group), verb(group.packets, "was", "were"), it, it);
}

std::string storm_text(const Group& group) {
  return fmt::format(
      "{} sent for at least the fourth time: a sender gives up after its number of "
      "retries, often 7, and the connection ends.",
      group.events == 1 ? "A packet was" : fmt::format("{} packets were", group.events));
}

std::string reuse_text(const Group& group) {
  return fmt::format(
      "{} PSNs of other requests before them ({}): the sender is wrong. Their receiver takes them "
      "for repetitions, so it may not execute them.",
      group.packets == 1 ? "A request packet has"
                         : fmt::format("{} request packets have", group.packets),
      details_of(group));
}

std::string stall_text(const Group& group) {
  return fmt::format(
      "Requests waited in silence {} until an answer came, up to {}, far longer than the "
      "connection's round trips. The capture does not show where the wait arose.",
      group.events == 1 ? "once" : fmt::format("{} times", group.events),
      format_duration(group.longest));
}

/// Text of kinds that need one sentence.
std::string short_text(const Group& group) {
  switch (group.kind) {
    case AnomalyKind::duplicate:
      return copy_text(group);
    case AnomalyKind::retry_storm:
      return storm_text(group);
    case AnomalyKind::stall:
      return stall_text(group);
    case AnomalyKind::psn_reused:
      return reuse_text(group);
    case AnomalyKind::pause:
      return fmt::format("{} stopped senders ({}): a port was full.",
                         counted(group.packets, "pause frame"), details_of(group));
    case AnomalyKind::no_icrcs:
      return fmt::format(
          "No packet of {} has a right ICRC: it was captured where the NIC has yet "
          "to write it. ICRCs are not judged there.",
          counted(group.events, "flow"));
    default:
      return plain_text(group);
  }
}

std::string text_of(const Evidence& evidence, const Group& group) {
  switch (group.kind) {
    case AnomalyKind::psn_gap:
      return gap_text(group);
    case AnomalyKind::lost_after_capture:
      return lost_behind_text(group);
    case AnomalyKind::retransmission:
      return recovery_text(evidence, group);
    case AnomalyKind::nak:
      return nak_text(evidence, group);
    case AnomalyKind::rnr_nak:
      return rnr_text(group);
    case AnomalyKind::out_of_order:
      return reorder_text(group);
    case AnomalyKind::bad_icrc:
      return icrc_text(group);
    case AnomalyKind::unanswered:
      return unanswered_text(group);
    default:
      return short_text(group);
  }
}

Severity severity_of(const Group& group) {
  switch (group.kind) {
    case AnomalyKind::unanswered:
      return Severity::fatal;
    case AnomalyKind::nak:
      return group.cause == Cause::fatal_nak ? Severity::fatal : Severity::harm;
    case AnomalyKind::psn_gap:
    case AnomalyKind::bad_icrc:
      return group.cause == Cause::missing_in_capture ? Severity::capture : Severity::harm;
    case AnomalyKind::no_icrcs:
    case AnomalyKind::ack_of_unsent:
      return Severity::capture;
    case AnomalyKind::ce_without_cnp:
    case AnomalyKind::cnp_without_ce:
    case AnomalyKind::window_plateau:
    case AnomalyKind::pause:
    case AnomalyKind::stall:
      return Severity::note;
    default:
      return Severity::harm;
  }
}

/// Whether a loss, a refusal or a late packet led to a recovery of this cause.
bool leads_to(const Group& group, Cause recovery) {
  switch (group.kind) {
    case AnomalyKind::lost_after_capture:
      return recovery == Cause::sequence_nak;
    case AnomalyKind::psn_gap:
      return group.cause == Cause::lost_before_capture &&
             (group.role == wire::Role::response
                  ? recovery == Cause::response_lost
                  : recovery == Cause::sequence_nak || recovery == Cause::timeout);
    case AnomalyKind::rnr_nak:
      return recovery == Cause::receiver_not_ready;
    case AnomalyKind::out_of_order:
      return recovery == Cause::reordered;
    default:
      return false;
  }
}

Duration cost_of(const Group& group, const std::vector<Group>& all) {
  if (group.kind == AnomalyKind::retransmission) return group.total;
  Duration cost{};
  for (const Group& other : all)
    if (other.point == group.point && other.kind == AnomalyKind::retransmission &&
        leads_to(group, other.cause))
      cost = sum_of(cost, other.total);
  return cost;
}

/// Whether another text covers the group: NAKs are described with their recovery, marks and CNPs
/// with the verdict, limits with their RTT.
bool is_said_elsewhere(const Group& group, const std::vector<Group>& all) {
  if (group.kind == AnomalyKind::window_plateau) return true;
  if (group.kind == AnomalyKind::ce_without_cnp || group.kind == AnomalyKind::cnp_without_ce)
    return true;
  if (!group.is(AnomalyKind::nak, Cause::sequence_nak)) return false;
  return std::ranges::any_of(all, [&](const Group& other) {
    return other.point == group.point &&
           (other.kind == AnomalyKind::retransmission || other.kind == AnomalyKind::out_of_order);
  });
}

Statement statement_of(const Evidence& evidence, const Group& group,
                       const std::vector<Group>& all) {
  return {.severity = severity_of(group),
          .topic = std::string(name_of(group.kind)),
          .text = (group.kind == AnomalyKind::pause ? "" : at_point(evidence, group.point)) +
                  text_of(evidence, group),
          .frames = group.frames,
          .sessions = {group.sessions.begin(), group.sessions.end()},
          .events = group.events,
          .packets = group.packets,
          .cost = cost_of(group, all),
          .show = fmt::format("anomalies --kind {}", name_of(group.kind))};
}

// Limits.

/// "16 x 65.54 kB in a round trip of 2 ms (median) are 4.2 Gb/s". Empty if `size`, the bytes of
/// each of the `most` things outstanding, or the round trip is unknown.
std::string rate_bound_text(const StreamCounts& counts, std::uint64_t most, double size) {
  const std::int64_t rtt = counts.rtt.quantile(0.5);
  if (size <= 0 || rtt <= 0) return {};
  const double bound = static_cast<double>(most) * size * 8e9 / static_cast<double>(rtt);
  return fmt::format(
      " {} x {} in a round trip of {} (median) are {} (goodput {}): the link may be faster, the "
      "connection is not.",
      most, format_bytes(size), format_duration(Duration{rtt}), format_bit_rate(bound),
      format_bit_rate(counts.goodput()));
}

double average_of(std::uint64_t bytes, std::uint64_t count) noexcept {
  return count == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(count);
}

std::string read_limit_text(const Evidence& evidence, const Anomaly& anomaly,
                            const StreamCounts& counts) {
  const auto reads =
      evidence.messages.find({anomaly.session, anomaly.direction, wire::Operation::read_request});
  const double size = reads == evidence.messages.end()
                          ? 0
                          : average_of(reads->second.bytes, reads->second.messages);
  const std::string bound = rate_bound_text(counts, counts.most_reads, size);
  return fmt::format(
      "Session {} is held by a limit: it never has more than {} READs and atomics outstanding, and "
      "reached that {} times.{}{}",
      anomaly.session, counts.most_reads, counts.reads_at_most, bound,
      bound.empty() ? "" : " Larger READs, more connections, or a higher limit help.");
}

std::string full_link_text(const Anomaly& anomaly, const StreamCounts& counts) {
  const auto queue = counts.standing_queue();
  if (!queue) return {};
  const double size = counts.bytes_of_packet();
  const double waits = queue->rate * static_cast<double>(queue->time.count()) / 1e9;
  return fmt::format(
      "Session {} fills a link of its path, or its receiver takes no more: {} (goodput {}). Its "
      "round trip grew from {} (shortest) to {} (median) with the data in flight, at the same "
      "rate: of {} in flight, {} wait in a queue, for {}. A deeper send queue makes that queue "
      "longer, not the rate higher.",
      anomaly.session, format_bit_rate(queue->rate * size * 8), format_bit_rate(counts.goodput()),
      format_duration(Duration{counts.rtt.minimum()}),
      format_duration(Duration{counts.rtt.quantile(0.5)}), format_bytes(queue->in_flight * size),
      format_bytes(waits * size), format_duration(queue->time));
}

std::string window_text(const Anomaly& anomaly, const StreamCounts& counts) {
  if (anomaly.cause == Cause::full_link) return full_link_text(anomaly, counts);
  const std::uint64_t again = counts.resent + counts.duplicates;
  const std::uint64_t once = counts.packets > again ? counts.packets - again : 0;
  const std::string bound =
      rate_bound_text(counts, counts.most_outstanding, average_of(counts.payload, once));
  return fmt::format(
      "Session {} is held by a limit: it never has more than {} packets of SENDs and WRITEs "
      "outstanding, and waited for ACKs there {} times, {:.0f} % of the time.{} More outstanding "
      "messages (a deeper send queue), larger ones, or more connections help.",
      anomaly.session, counts.most_outstanding, counts.held, 100 * counts.held_share(), bound);
}

Statement plateau_statement(const Evidence& evidence, const Anomaly& anomaly) {
  const Session& session = session_of(evidence, anomaly);
  const StreamCounts& counts = session.directions[anomaly.direction].stream->counts();
  const std::string text = counts.held_by_reads() ? read_limit_text(evidence, anomaly, counts)
                                                  : window_text(anomaly, counts);
  return {.severity = Severity::note,
          .topic = std::string(name_of(anomaly.kind)),
          .text = at_point(evidence, point_of(evidence.analyst, session)) + text,
          .frames = {anomaly.frame},
          .sessions = {anomaly.session},
          .events = 1,
          .packets = anomaly.packets,
          .show = "sessions --json"};
}

}  // namespace

std::string_view name_of(Severity severity) noexcept {
  constexpr std::string_view kNames[] = {"fatal", "harm", "note", "capture"};
  return kNames[static_cast<std::size_t>(severity)];
}

bool Explanation::nothing_is_wrong() const noexcept {
  if (followed == Followed::nothing) return false;
  return std::ranges::none_of(statements, [](const Statement& statement) {
    return statement.severity == Severity::fatal || statement.severity == Severity::harm;
  });
}

Explanation explain(const Evidence& evidence) {
  const std::vector<Group> groups = groups_of(evidence);
  Explanation found{.overview = overview_of(evidence),
                    .statements = {},
                    .congestion = congestion_of(evidence, groups),
                    .followed = evidence.totals.followed()};
  for (const Group& group : groups)
    if (!is_said_elsewhere(group, groups))
      found.statements.push_back(statement_of(evidence, group, groups));
  for (const Anomaly& anomaly : evidence.anomalies)
    if (anomaly.kind == AnomalyKind::window_plateau)
      found.statements.push_back(plateau_statement(evidence, anomaly));
  add_capture_statements(evidence, found.statements);
  static constexpr std::string_view kRecovery = "retransmission";
  std::ranges::stable_sort(found.statements, [](const Statement& a, const Statement& b) {
    if (a.severity != b.severity) return a.severity < b.severity;
    if (a.cost != b.cost) return a.cost > b.cost;
    return a.topic != kRecovery && b.topic == kRecovery;  // a cause comes first
  });
  return found;
}

const FigureTable& Statement::figures() {
  using Row = FigureOf<Statement>;
  static constexpr Figure kRows[] = {
      Row::of<&Statement::severity>("severity", "Severity."),
      Row::of<&Statement::topic>("topic", "Topic."),
      Row::of<&Statement::text>("text", "The sentence."),
      Row::of<&Statement::events>("events", "Events counted."),
      Row::of<&Statement::packets>("packets", "Packets concerned."),
      Row::of<&Statement::cost>("cost_ns", "Time that it cost.", Unit::ns),
      Row::of<&Statement::sessions>("sessions", "Numbers of the sessions."),
      Row::of<&Statement::frames>("first_frames", "Numbers of the first frames that show it.")};
  static constexpr FigureTable kTable{"A statement about a capture.", kRows};
  return kTable;
}

}  // namespace lw::dissect
