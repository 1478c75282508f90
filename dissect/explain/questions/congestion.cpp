// SPDX-License-Identifier: BSD-3-Clause
// Was it congestion? From what queues and ports show, and from what was lost.
#include "dissect/explain/questions/congestion.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity.h"
#include "dissect/explain/counters/counter_report.h"
#include "dissect/explain/questions/bad_link.h"
#include "dissect/explain/questions/capture.h"
#include "dissect/explain/questions/link_evidence.h"
#include "dissect/explain/questions/rate_evidence.h"
#include "dissect/explain/questions/retries.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::AnomalyKind;
using analysis::Cause;
using analysis::Session;
using Congested = CongestionVerdict::Answer;
using Group = AnomalyGroup;

/// Signs that distinguish congestion from other trouble.
struct Signs {
  std::uint64_t packets = 0, marked = 0, notifications = 0, lost = 0, unseen = 0, resent = 0;
  std::uint64_t lost_behind = 0;  // of lost: behind the capture point, if not overtaken there
  std::uint64_t refused = 0, late = 0, missing_acks = 0, pauses = 0;
  std::uint64_t unexplained = 0;  // recoveries
  std::uint64_t unmarkable = 0;   // CNPs to senders of packets that no queue may mark
  std::uint64_t full_links = 0;   // connections that fill a link
  std::uint64_t undecided = 0;    // packets that may have been lost, and NAKs
  std::uint64_t trimmed = 0;      // packets whose data a switch cut off
  std::uint64_t unanswered = 0;   // requests without an answer at the end, for an unknown reason
  std::uint64_t lost_at_receiver = 0;  // of lost: behind the last of several points
  std::uint64_t lost_answers = 0;      // of lost: answers between two points
  std::uint64_t turned_away = 0;  // of requests and connections: refused, or dropped as invalid

  static constexpr std::uint64_t Signs::* kAll[] = {
      &Signs::packets,      &Signs::marked,      &Signs::notifications,    &Signs::lost,
      &Signs::unseen,       &Signs::resent,      &Signs::refused,          &Signs::late,
      &Signs::missing_acks, &Signs::pauses,      &Signs::unexplained,      &Signs::undecided,
      &Signs::unmarkable,   &Signs::full_links,  &Signs::lost_behind,      &Signs::trimmed,
      &Signs::unanswered,   &Signs::turned_away, &Signs::lost_at_receiver, &Signs::lost_answers};
};

bool is_loss(const Group& group) {
  return group.is_certain() &&
         (group.kind == AnomalyKind::lost_after_capture ||
          (group.kind == AnomalyKind::psn_gap && group.cause == Cause::lost_before_capture));
}

/// A recovery from a loss that no gap shows: after the capture point, or of a flow's last packet.
bool is_unseen_loss(const Group& group) {
  return group.is(AnomalyKind::retransmission, Cause::timeout) ||
         group.is(AnomalyKind::retransmission, Cause::response_lost);
}

bool is_undecided(const Group& group) {
  return group.is(AnomalyKind::nak, Cause::sequence_nak) ||
         (group.kind == AnomalyKind::psn_gap && !group.is_certain());
}

/// Whether packets or connections were turned away: by a host, a device, or as invalid.
bool is_turned_away(AnomalyKind kind) {
  return kind == AnomalyKind::connect_rejected || kind == AnomalyKind::icmp_refused ||
         kind == AnomalyKind::wrong_icrcs || kind == AnomalyKind::wrong_answer;
}

/// Whether another reason than a loss explains why requests of a group got no answer: they were
/// refused or invalid, or the peer had disconnected.
bool is_explained(const Facts& facts, const Group& group) {
  return std::ranges::all_of(group.sessions, [&](std::uint32_t number) {
    return std::ranges::any_of(facts.groups, [&](const Group& other) {
      const bool explains = is_turned_away(other.kind) || other.kind == AnomalyKind::disconnected;
      return explains && other.sessions.contains(number);
    });
  });
}

void add_signs(const Facts& facts, Signs& signs, const Group& group) {
  if (is_loss(group)) signs.lost += group.packets;
  if (is_loss(group) && group.kind == AnomalyKind::lost_after_capture && group.where.empty())
    signs.lost_behind += group.packets;
  if (is_loss(group) && group.where.starts_with("behind ")) signs.lost_at_receiver += group.packets;
  if (is_loss(group) && group.where.contains(" > ") && group.role == wire::Role::response)
    signs.lost_answers += group.packets;
  if (is_unseen_loss(group)) signs.unseen += group.events;
  if (group.is(AnomalyKind::retransmission, Cause::ack_lost)) signs.missing_acks += group.events;
  if (group.kind == AnomalyKind::retransmission && !group.is_certain() &&
      !is_part_of_unanswered(facts, group))
    signs.unexplained += group.events;
  if (group.kind == AnomalyKind::trimmed && group.is_certain()) signs.trimmed += group.packets;
  if (is_turned_away(group.kind)) signs.turned_away += group.events;
  if (group.kind == AnomalyKind::unanswered && group.cause == Cause::none &&
      !is_explained(facts, group))
    signs.unanswered += group.packets;
  if (is_undecided(group)) signs.undecided += group.packets;
  if (group.kind == AnomalyKind::rnr_nak) signs.refused += group.events;
  if (group.kind == AnomalyKind::out_of_order) signs.late += group.packets;
  if (group.kind == AnomalyKind::pause) signs.pauses += group.packets;
  if (group.cause == Cause::full_link) signs.full_links += group.events;
}

/// Counts each sign at the capture point that shows most of it: other points show the same events.
Signs signs_of(const Facts& facts) {
  const Evidence& evidence = facts.evidence;
  std::map<std::uint32_t, Signs> by_point;
  for (const Session& session : evidence.analyst.sessions()) {
    Signs& signs = by_point[point_of(evidence.analyst, session)];
    for (const auto& direction : session.directions) {
      signs.packets += direction.packets;
      signs.marked += direction.congested;
      const auto& other = session.directions[&direction == &session.directions[0] ? 1 : 0];
      const bool unmarkable = other.packets > 0 && other.markable == 0;
      (unmarkable ? signs.unmarkable : signs.notifications) += direction.cnps;
      if (direction.stream) signs.resent += direction.stream->counts().resent;
    }
  }
  for (const Group& group : facts.groups) add_signs(facts, by_point[group.point], group);
  Signs most;
  for (const auto& [point, signs] : by_point)
    for (const auto member : Signs::kAll) most.*member = std::max(most.*member, signs.*member);
  if (most.lost == 0) most.lost = most.unseen;
  return most;
}

/// Whether all that was lost are answers between two points: no NAK asks for them.
bool are_answers(const Signs& signs) { return signs.lost > 0 && signs.lost == signs.lost_answers; }

std::string were_lost(const Signs& signs) {
  const bool all_behind = signs.lost > 0 && signs.lost == signs.lost_behind;
  const bool answers = are_answers(signs);
  return fmt::format("{} {} lost{}{}", counted(signs.lost, answers ? "answer" : "packet"),
                     verb(signs.lost, "was", "were"), answers ? " between the points" : "",
                     all_behind ? " or overtaken" : "");
}

std::string marked_reason(const Signs& signs) {
  const double share = 100 * static_cast<double>(signs.marked) /
                       static_cast<double>(std::max<std::uint64_t>(signs.packets, 1));
  const std::string lost = signs.lost == 0 ? "nothing was lost" : were_lost(signs);
  if (signs.marked == 0)
    return fmt::format(
        "{} came back because of marked packets, and no captured packet is marked: the "
        "queue that marks is behind the capture point; {}.",
        counted(signs.notifications, "CNP"), lost);
  const std::string marked =
      fmt::format("{} marked by queues ({:.3g} %)", counted(signs.marked, "packet"), share);
  if (signs.notifications == 0)
    return fmt::format(
        "{}, but no CNP came back: the receiver does not notify, or that direction "
        "was not captured; {}.",
        marked, lost);
  return fmt::format(
      "{}, and {} came back{}; {}.", marked, counted(signs.notifications, "CNP"),
      signs.notifications > signs.marked ? ", so others were marked behind the capture point" : "",
      lost);
}

/// The priorities that were paused: "priority 3", "priorities 3, 4".
std::string paused_priorities(const Evidence& evidence) {
  std::vector<std::size_t> paused;
  const auto& pauses = evidence.analyst.pauses().of_priority();
  for (std::size_t i = 0; i < pauses.size(); ++i)
    if (pauses[i] > 0) paused.push_back(i);
  return fmt::format("{} {}", paused.size() == 1 ? "priority" : "priorities",
                     fmt::join(paused, ", "));
}

/// Whether pauses stopped packets of the connections. A pause of the whole link did, and one of a
/// priority that packets have, in their tag or in the upper three bits of their DSCP, as most
/// switches map it. If none matches, tagged packets were not paused; of untagged ones nothing shows
/// which priority they have.
Congested pauses_concern(const Evidence& evidence) {
  const CaptureTotals& totals = evidence.totals;
  if (evidence.analyst.pauses().of_link() > 0) return Congested::yes;
  bool untagged = false;
  for (std::size_t i = 0; i < wire::kPriorities; ++i) {
    untagged = untagged || totals.untagged[i] > 0;
    if (evidence.analyst.pauses().of_priority()[i] > 0 && totals.tagged[i] + totals.untagged[i] > 0)
      return Congested::yes;
  }
  return untagged ? Congested::cannot_tell : Congested::no;
}

/// The time for which packets of the connections were stopped, by the longest pause that concerns
/// them.
Duration paused_time(const Evidence& evidence) {
  const analysis::PauseLog& pauses = evidence.analyst.pauses();
  Duration time = pauses.link_paused();
  for (std::size_t i = 0; i < wire::kPriorities; ++i)
    if (evidence.totals.tagged[i] + evidence.totals.untagged[i] > 0)
      time = std::max(time, pauses.paused(i));
  return time;
}

/// ", for 240 us, 24 % of the time"; empty where no pause was ended.
std::string paused_time_text(const Evidence& evidence) {
  const Duration paused = paused_time(evidence);
  const Duration all = capture::stamp_difference(evidence.totals.last, evidence.totals.first);
  if (paused <= Duration{} || all <= Duration{}) return {};
  return fmt::format(", for {}, {:.3g} % of the time", format_duration(paused),
                     std::min(100.0, 100 * static_cast<double>(paused.count()) /
                                         static_cast<double>(all.count())));
}

std::string paused_reason(const Evidence& evidence, const Signs& signs, Congested concerns) {
  const std::string lost = signs.lost == 0 ? "nothing was lost" : were_lost(signs);
  const std::string frames = counted(signs.pauses, "pause frame");
  if (concerns == Congested::no)
    return fmt::format("{} stopped {}, which no packet has in its tag; {}.", frames,
                       paused_priorities(evidence), lost);
  if (concerns == Congested::cannot_tell)
    return fmt::format(
        "{} stopped {}, and packets have no tag: which priority they have is set in the switches; "
        "{}.",
        frames, paused_priorities(evidence), lost);
  if (evidence.analyst.pauses().of_link() > 0)
    return fmt::format(
        "{} of the whole link (802.3x) came from a port whose buffer was full{}; {}.",
        counted(evidence.analyst.pauses().of_link(), "pause frame"), paused_time_text(evidence),
        lost);
  return fmt::format("{} of {} came from a port whose buffer was full{}; {}.", frames,
                     paused_priorities(evidence), paused_time_text(evidence), lost);
}

std::string full_link_reason(const Evidence& evidence, const Signs& signs) {
  return fmt::format(
      "{} a link, or its receiver takes no more: the round trip grew with the data in flight and "
      "the rate did not, so packets wait in a queue{}; {}.",
      signs.full_links == 1 ? "1 connection fills"
                            : fmt::format("{} connections fill", signs.full_links),
      longest_queue_text(evidence), signs.lost == 0 ? "nothing was lost" : were_lost(signs));
}

std::string trimmed_reason(const Signs& signs) {
  return fmt::format(
      "{} {} trimmed: a switch does that to packets for which its queue has no room.",
      counted(signs.trimmed, "packet"), verb(signs.trimmed, "was", "were"));
}

std::string calm_reason(const Evidence& evidence, const Signs& signs) {
  if (signs.refused > 0)
    return "nothing was lost in the network: the receiver lacked buffers, which slows the sender, "
           "and is not congestion of the path.";
  if (signs.turned_away > 0)
    return "packets or connections were turned away, or answered wrongly, which is no congestion; "
           "no "
           "packet is marked, and no CNP came.";
  if (signs.unmarkable > 0)
    return fmt::format(
        "{} came, but no queue can have marked the packets that they answer, as all are Not-ECT: "
        "they say nothing about the path; nothing was lost.",
        counted(signs.unmarkable, "CNP"));
  if (signs.late > 0) return "packets were late, and none was lost or marked.";
  return "nothing was lost, no packet is marked, and no CNP came" + idle_time_text(evidence) + ".";
}

constexpr std::uint64_t kFewPackets = 512, kFewTrips = 8, kManyTrips = 64;
constexpr double kLongQueue = 32e3;  // bytes: the software of a receiver holds fewer

/// All that the answer depends on.
struct Case {
  const Evidence& evidence;
  Signs signs;
  Congested concerns;   // whether pauses stopped packets of the connections
  std::string unclear;  // what a queue may explain, and something else may, too
  bool sample = false, followed = true;
  const CounterSigns* port = nullptr;  // of a port's counters
  LinkRate link = {};
  LossLoads losses = {};
  RoundTrips trips = {};
  SharedLink shared = {};
  FilledLink filled = {};
};

/// Whether nearly all packets that are missing here were lost while packets of several hosts filled
/// the link to their receiver, which was less busy at other times, or was full: at its stated rate,
/// or as several hosts together were no faster than one alone. Its queue had no room.
bool is_overflow(const Case& c) {
  constexpr std::uint64_t kEnough = 8;
  const LossLoads& losses = c.losses;
  const std::uint64_t busy = losses.several + losses.full;
  if (losses.several < kEnough) return false;
  if (losses.follow_load() && 4 * busy >= 3 * losses.all() && 4 * losses.several >= losses.all())
    return true;
  return 10 * busy >= 9 * losses.all() && 5 * losses.several >= 2 * losses.all() &&
         (c.shared.is_full() || (c.link.is_stated() && c.filled.packets > 0));
}

/// "; no packet around N of them waited for more than 15 us": a full queue was not longer. Empty:
/// no NAK shows it.
std::string loss_wait_text(const Case& c) {
  if (c.trips.loss_naks == 0 || c.trips.longest_loss_wait < Duration{}) return {};
  return fmt::format(
      "; the {} for {} of them came up to {} later than the shortest round trip: if a "
      "queue was full, packets waited in it for no longer",
      c.trips.loss_naks == 1 ? "NAK" : "NAKs", c.trips.loss_naks,
      format_duration(c.trips.longest_loss_wait));
}

std::string unmarked_loss_reason(const Case& c) {
  const Evidence& evidence = c.evidence;
  const Signs& signs = c.signs;
  if (signs.lost > 0 && signs.lost == signs.lost_at_receiver)
    return fmt::format(
        "{}, all behind the last point, and no packet is marked: the receiver or its last cable "
        "lost "
        "them; the path between the points lost nothing",
        were_lost(signs));
  if (signs.lost_at_receiver > 0) {
    Case rest = c;  // what the path may have lost
    rest.signs.lost -= signs.lost_at_receiver;
    rest.signs.lost_at_receiver = 0;
    return fmt::format(
        "{} {} lost behind the last point, by the receiver or its last cable, not by the path. Of "
        "the others: {}",
        counted(signs.lost_at_receiver, "packet"), verb(signs.lost_at_receiver, "was", "were"),
        unmarked_loss_reason(rest));
  }
  const std::string what =
      signs.lost == 0 ? counted(signs.missing_acks, "ACK") + " did not arrive" : were_lost(signs);
  if (evidence.totals.ecn_capable == 0)
    return fmt::format(
        "{}, but all packets are Not-ECT, so no queue could mark one, and no CNP "
        "came{}. Overflow of a queue looks the same as a bad link: the drop counters "
        "of the switches tell.",
        what, are_answers(signs) ? "" : loss_wait_text(c));
  return fmt::format(
      "{}, and no packet is marked, though queues may mark {} of them, and no CNP "
      "came: a queue with ECN would have marked before it dropped. A queue without "
      "ECN or a bad link is likelier; the drop counters of the switches tell.",
      what, evidence.totals.ecn_capable);
}

std::string overflow_reason(const Case& c) {
  return fmt::format(
      "{} of {} that are missing here would have come while packets of several hosts came to one "
      "host at three quarters of {} or more; {} of all packets to it came at such times{}: its "
      "queue had no room for them.",
      c.losses.several + c.losses.full, counted(c.losses.all(), "packet"),
      c.link.is_stated() ? "the link's rate, " + c.link.text()
                         : std::string("the highest rate of 16 packets in a row"),
      format_share(c.losses.busy_share),
      c.losses.follow_load() || !c.shared.is_full()
          ? ""
          : ", and several hosts together were no faster than one alone, so the link was full");
}

UnmarkedLosses unmarked_of(const Case& c) {
  return {.lost = c.signs.lost,
          .behind = c.signs.lost_behind,
          .missing_acks = c.signs.missing_acks,
          .undecided = c.signs.undecided,
          .packets = c.signs.packets,
          .markable = c.evidence.totals.ecn_capable,
          .loads = c.losses,
          .shared = c.shared,
          .trips = c.trips,
          .link = c.link,
          .filled = c.filled.packets};
}

/// Whether something is known to be lost, or may be.
bool has_losses(const Signs& signs) {
  return signs.lost + signs.missing_acks + signs.unexplained + signs.undecided > 0;
}

/// Whether several points, pauses or requests without an answer show another matter.
bool shows_more(const Case& c) {
  return c.signs.unanswered + c.signs.pauses > 0 || c.evidence.points.points().size() > 1;
}

/// Whether a capture of several connections, or of many bytes in a few packets, is too short to
/// show a queue: it has few round trips, or none that began after a queue may have ended; and its
/// packets may be a tenth of a round trip's worth.
bool is_too_short(const Case& c) {
  constexpr double kLeast = 1e9;                     // b/s
  constexpr double kShare = 0.1, kLongest = 4.25e3;  // bytes of a frame
  constexpr std::int64_t kFewWays = 4;
  const Duration span = stamp_difference(c.evidence.totals.last, c.evidence.totals.first);
  const bool seen = c.trips.seen >= kFewTrips && span / kFewWays >= c.trips.longest_way;
  if (seen || c.signs.packets >= kFewPackets || c.link.rate < kLeast) return false;
  const double worth = static_cast<double>(c.trips.longest_way.count()) * c.link.rate / 8e9;
  return kLongest * static_cast<double>(c.signs.packets) > kShare * worth;
}

/// Why no queue was long; nothing: packets may have been lost, or nothing says so.
std::string no_long_queue_reason(const Case& c) {
  if (has_losses(c.signs) || shows_more(c) || is_too_short(c)) return {};
  const std::string why = short_queue_reason(unmarked_of(c));
  if (why.empty()) return {};
  return "nothing was lost in the network, " + why + ".";
}

/// What was lost, for the question whether a queue was full; nothing: nothing says that none was.
std::string no_full_queue_reason(const Case& c) {
  const Signs& signs = c.signs;
  if (!has_losses(signs) || shows_more(c)) return {};
  const std::string why = bad_link_reason(unmarked_of(c));
  if (why.empty()) return {};
  const std::string what = signs.lost > 0 ? were_lost(signs)
                           : signs.missing_acks > 0
                               ? counted(signs.missing_acks, "ACK") + " did not arrive"
                               : "packets were retransmitted";
  return what + ", but " + why;
}

std::string filled_reason(const Case& c) {
  return fmt::format(
      "{} of several hosts came to one host at 95 % of the link's rate or more, {}: they "
      "waited for each other in a queue; {}.",
      counted(c.filled.packets, "packet"), c.link.text(),
      c.signs.lost == 0 ? "nothing was lost" : were_lost(c.signs));
}

std::string shared_reason(const Case& c) {
  return fmt::format(
      "for {}, {} of the time, packets of several hosts came to one host at {}, and no faster than "
      "those of one host alone: the link to it was full, and they waited for each other in a "
      "queue; "
      "{}.",
      format_duration(c.shared.full_time),
      format_share(static_cast<double>(c.shared.full_time.count()) /
                   static_cast<double>(c.shared.time.count())),
      format_bit_rate(c.shared.together),
      c.signs.lost == 0 ? "nothing was lost" : were_lost(c.signs));
}

/// Whether round trips of most packets never grew by a tenth of the way to the receiver and back,
/// and no link had packets of several hosts at its rate: no queue stood.
bool is_ruled_out(const Case& c) {
  constexpr double kLittle = 0.1;
  return c.trips.sampled >= c.trips.others && c.trips.sampled > 0 && c.trips.all.share <= kLittle &&
         c.filled.packets == 0 && even_rate_reason(c.evidence).empty() &&
         busy_link_reason(c.evidence).empty();
}

std::string steady_reason(const Case& c) {
  return fmt::format(
      "nothing was lost, no packet is marked, no CNP came, and round trips never grew by more than "
      "{} ({}): no queue stood.",
      format_duration(c.trips.all.longest_wait), format_share(c.trips.all.share));
}

constexpr double kMuchGrowth =
    1.0 / 3;  // of the way to the receiver and back: growth of round trips

/// As unclear_rate_reason(), or that round trips grew for some time, and much.
std::string unclear_reason(const Evidence& evidence, const RoundTripGrowth& growth) {
  std::string reason = unclear_rate_reason(evidence);
  if (reason.empty() && growth.share >= kMuchGrowth) reason = possible_queue_reason(evidence);
  return reason;
}

/// Whether round trips grew so much, once at least, that 64 kB may have waited at the rate that was
/// seen, and by a third.
bool has_grown(const Case& c) {
  constexpr double kBytes = 64e3;
  const RoundTripGrowth& growth = path_growth(c.trips, c.shared);
  const double bytes = static_cast<double>(growth.longest_wait.count()) * c.link.rate / 8e9;
  // The rate that was seen is not the link's where the receiver held its senders up.
  return growth.share >= kMuchGrowth && (bytes >= kBytes || c.signs.refused > 0);
}

std::string grown_reason(const Case& c) {
  return fmt::format(
      "nothing was lost in the network or marked{}, but round trips grew by up to {}: packets "
      "waited in a queue, or an end needed that time. A capture at the receiver tells.",
      c.signs.refused > 0 ? ", and the receiver lacked buffers" : "",
      format_duration(path_growth(c.trips, c.shared).longest_wait));
}

struct CongestionRow {
  bool (*holds)(const Case& c);
  Congested answer;
  std::string (*reason)(const Case& c);
};

constexpr std::uint64_t kFilledPackets = 512;

constexpr CongestionRow kCongestionRows[] = {
    {[](const Case& c) { return c.signs.marked + c.signs.notifications > 0; }, Congested::yes,
     [](const Case& c) { return marked_reason(c.signs); }},
    {[](const Case& c) { return c.signs.trimmed > 0; }, Congested::yes,
     [](const Case& c) { return trimmed_reason(c.signs); }},
    {[](const Case& c) { return c.signs.pauses > 0 && c.concerns == Congested::yes; },
     Congested::yes, [](const Case& c) { return paused_reason(c.evidence, c.signs, c.concerns); }},
    {[](const Case& c) { return c.port != nullptr && c.port->show_congestion(); }, Congested::yes,
     [](const Case& c) {
       return c.port->congestion_text() +
              ". A capture in the host cannot show pause frames, nor what the port dropped.";
     }},
    {[](const Case& c) {
       return c.signs.full_links > 0 && longest_queue_bytes(c.evidence) >= kLongQueue &&
              c.trips.seen >= kManyTrips;
     },
     Congested::yes, [](const Case& c) { return full_link_reason(c.evidence, c.signs); }},
    {is_overflow, Congested::yes, overflow_reason},
    {[](const Case& c) {
       return c.link.is_stated() && c.filled.packets >= kFilledPackets &&
              c.filled.time >= 2 * c.trips.longest_way;
     },
     Congested::yes, filled_reason},
    {[](const Case& c) {
       return c.shared.was_full_for_long() && c.shared.full_time >= 2 * c.trips.longest_way;
     },
     Congested::yes, shared_reason},
    {[](const Case& c) { return c.sample; }, Congested::cannot_tell,
     [](const Case&) -> std::string {
       return "no packet is marked, and no CNP came, but the capture is a sample: what was lost "
              "does not "
              "show.";
     }},
    {[](const Case& c) { return !no_full_queue_reason(c).empty(); }, Congested::no,
     no_full_queue_reason},
    {[](const Case& c) { return c.signs.lost + c.signs.missing_acks > 0; }, Congested::cannot_tell,
     [](const Case& c) { return unmarked_loss_reason(c); }},
    {[](const Case& c) { return c.signs.unanswered > 0; }, Congested::cannot_tell,
     [](const Case& c) {
       return fmt::format(
           "{} got no answer until the end: they, or their answers, may have been lost; no packet "
           "is "
           "marked, and no CNP came.",
           counted(c.signs.unanswered, "request packet"));
     }},
    {[](const Case& c) { return c.signs.unexplained > 0; }, Congested::cannot_tell,
     [](const Case&) -> std::string {
       return "packets were retransmitted, and the capture cannot tell why; no packet is marked, "
              "and "
              "no CNP "
              "came.";
     }},
    {[](const Case& c) { return c.signs.undecided > 0 && c.signs.late + c.signs.refused == 0; },
     Congested::cannot_tell,
     [](const Case&) -> std::string {
       return "packets may have been lost, and the capture does not show it; no packet is marked, "
              "and no "
              "CNP came.";
     }},
    {[](const Case& c) { return c.signs.pauses > 0 && c.concerns == Congested::cannot_tell; },
     Congested::cannot_tell,
     [](const Case& c) { return paused_reason(c.evidence, c.signs, c.concerns); }},
    {[](const Case& c) { return c.signs.pauses > 0; }, Congested::no,
     [](const Case& c) { return paused_reason(c.evidence, c.signs, c.concerns); }},
    {[](const Case& c) { return c.signs.full_links > 0; }, Congested::cannot_tell,
     [](const Case& c) {
       return full_link_reason(c.evidence, c.signs) +
              " So short a queue may also be the time that its receiver needs.";
     }},
    {[](const Case& c) { return !no_long_queue_reason(c).empty(); }, Congested::no,
     no_long_queue_reason},
    {[](const Case& c) { return !c.followed && c.signs.turned_away == 0; }, Congested::cannot_tell,
     [](const Case&) -> std::string { return "no packet of a connection was followed."; }},
    {[](const Case& c) {
       return !c.unclear.empty() && c.signs.refused + c.signs.late == 0 && is_ruled_out(c);
     },
     Congested::no, steady_reason},
    {[](const Case& c) { return !c.unclear.empty() && c.signs.refused + c.signs.late == 0; },
     Congested::cannot_tell, [](const Case& c) { return c.unclear; }},
    {[](const Case& c) { return c.signs.turned_away == 0 && has_grown(c); }, Congested::cannot_tell,
     grown_reason},
    {[](const Case& c) { return c.signs.turned_away == 0 && is_too_short(c); },
     Congested::cannot_tell,
     [](const Case& c) {
       return fmt::format(
           "nothing was lost in the network or marked, but the capture has {} and too few round "
           "trips: a longer one tells.",
           counted(c.signs.packets, "packet"));
     }},
    {[](const Case&) { return true; }, Congested::no,
     [](const Case& c) { return calm_reason(c.evidence, c.signs); }},
};

std::string pause_text(const Facts&, const Group& group) {
  return fmt::format("{} stopped senders ({}): a port was full.",
                     counted(group.packets, "pause frame"), details_of(group));
}

constexpr Telling kCongestionTellings[] = {{AnomalyKind::pause, Severity::note, pause_text}};

/// Marks and CNPs that slowed senders, with nothing lost or paused, are how ECN is meant to work.
bool is_controlled(const CongestionVerdict& verdict) {
  return verdict.marked + verdict.notifications > 0 &&
         verdict.lost + verdict.resent + verdict.pauses == 0;
}

Health health_of(const CongestionVerdict& verdict) {
  if (verdict.answer == Congested::yes)
    return is_controlled(verdict) ? Health::fine : Health::wrong;
  return verdict.answer == Congested::no ? Health::fine : Health::cannot_tell;
}

}  // namespace

CongestionVerdict congestion_of(const Facts& facts) {
  const Evidence& evidence = facts.evidence;
  const Signs signs = signs_of(facts);
  const LinkRate link = link_rate_of(evidence);
  const RoundTrips trips = round_trips_of(evidence);
  const SharedLink shared = shared_link_of(evidence);
  const Case found{.evidence = evidence,
                   .signs = signs,
                   .concerns = signs.pauses > 0 ? pauses_concern(evidence) : Congested::no,
                   .unclear = unclear_reason(evidence, path_growth(trips, shared)),
                   .sample = is_sample(facts),
                   .followed = facts.follows_connections(),
                   .port = facts.counters == nullptr ? nullptr : &facts.counters->signs,
                   .link = link,
                   .losses = loss_loads_of(evidence, link),
                   .trips = trips,
                   .shared = shared,
                   .filled = filled_link_of(evidence, link)};
  const auto row = std::ranges::find_if(kCongestionRows,
                                        [&](const CongestionRow& one) { return one.holds(found); });
  return {.answer = row->answer,
          .reason = row->reason(found),
          .marked = signs.marked,
          .notifications = signs.notifications + signs.unmarkable,
          .lost = signs.lost,
          .resent = signs.resent,
          .pauses = signs.pauses,
          .paused = paused_time(evidence)};
}

Answer ask_congestion(const Facts& facts) {
  CongestionVerdict verdict = congestion_of(facts);
  if (verdict.reason.ends_with('.'))
    verdict.reason.pop_back();  // the answer is a part of a sentence
  return {.question = OperatorQuestion::congestion,
          .health = health_of(verdict),
          .text = verdict.reason,
          .statements = facts.statements_about(OperatorQuestion::congestion, kCongestionTellings)};
}

std::string_view name_of(Congested answer) noexcept {
  constexpr std::string_view kNames[] = {"yes", "no", "cannot tell"};
  return kNames[static_cast<std::size_t>(answer)];
}

const FigureTable& CongestionVerdict::figures() {
  using Row = FigureOf<CongestionVerdict>;
  static constexpr Figure kRows[] = {
      Row::of<&CongestionVerdict::answer>("answer", "yes, no or cannot tell."),
      Row::of<&CongestionVerdict::reason>("reason", "The reason."),
      Row::of<&CongestionVerdict::marked>("marked", "Packets marked Congestion Experienced."),
      Row::of<&CongestionVerdict::notifications>("cnps", "Congestion notifications."),
      Row::of<&CongestionVerdict::lost>("lost", "Packets lost."),
      Row::of<&CongestionVerdict::resent>("retransmitted", "Packets retransmitted.")
          .renamed_from("resent"),
      Row::of<&CongestionVerdict::pauses>("pause_frames", "Pause frames."),
      Row::of<&CongestionVerdict::paused>(
          "paused_ns", "Time from pauses of the connections' priorities to their ends.", Unit::ns)};
  static constexpr FigureTable kTable{"Was it congestion?", kRows};
  return kTable;
}

}  // namespace lw::dissect
