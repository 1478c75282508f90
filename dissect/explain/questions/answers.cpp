// SPDX-License-Identifier: BSD-3-Clause
// Did every peer answer: requests without an answer, refusals by ICMP, hosts without a link
// address?
#include "dissect/explain/questions/answers.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity.h"
#include "dissect/explain/questions/retries.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::AnomalyKind;
using analysis::Cause;
using analysis::ConnectionSetup;
using analysis::OpenRequests;
using Group = AnomalyGroup;
using Step = ConnectionSetup::Step;

// Requests without an answer.

const ConnectionSetup* setup_of(const Facts& facts, const analysis::Session& session) {
  return facts.evidence.analyst.setup_of(session);
}

bool has_anomaly(const Facts& facts, AnomalyKind kind, std::uint32_t session) {
  return std::ranges::any_of(facts.groups, [=](const Group& group) {
    return group.kind == kind && group.sessions.contains(session);
  });
}

/// Why no answer came, as far as the capture shows it.
enum class Silence : std::uint8_t { icrcs, refused, disconnected, stopped, never, one_direction };

/// "... {at}": where it was disconnected, or when the last answer came.
constexpr std::pair<Silence, std::string_view> kSilences[] = {
    {Silence::icrcs, "Its ICRCs are wrong, so its receiver drops it."},
    {Silence::refused, "A device refuses these packets by ICMP."},
    {Silence::disconnected, "{at}: what came after that, or was under way, could not be answered."},
    {Silence::stopped,
     "The other end answered before: either it has stopped, or the path there or back is cut. Both "
     "leave "
     "the same frames."},
    {Silence::never,
     "The capture has answers to this host from others, so it would have these: either the peer "
     "does not "
     "run, or the path there or back is cut."},
    {Silence::one_direction,
     "The capture has no answer to this host at all, so it may hold one direction only; no answer "
     "that its "
     "sender could use has reached it."},
};

Silence silence_of(const Facts& facts, const OpenEnd& end) {
  const std::uint32_t number = end.session->number;
  if (has_anomaly(facts, AnomalyKind::wrong_icrcs, number)) return Silence::icrcs;
  if (has_anomaly(facts, AnomalyKind::icmp_refused, number)) return Silence::refused;
  if (has_anomaly(facts, AnomalyKind::disconnected, number)) return Silence::disconnected;
  if (end.open->ever_answered) return Silence::stopped;
  const std::uint32_t flow = end.session->directions[end.direction].flow;
  const bool heard = facts.evidence.analyst.flows().has_answers_to_source(flow);
  return heard ? Silence::never : Silence::one_direction;
}

/// "10.0.0.2 disconnected (DREQ in frame 41, DREP in frame 42)".
std::string disconnect_text(const ConnectionSetup& setup) {
  const std::uint8_t side = *setup.disconnected_by();
  const auto& drep = setup.of(1 - side, Step::drep);
  return fmt::format(
      "{} disconnected (DREQ in frame {}{})",
      address_text(side == ConnectionSetup::kRequester ? setup.requester : setup.replier),
      setup.of(side, Step::dreq).first_frame,
      drep.count > 0 ? fmt::format(", DREP in frame {}", drep.first_frame) : "");
}

/// Whether only shorter packets than these passed: the path may have a smaller MTU.
std::string size_text(const Facts& facts, const OpenEnd& end) {
  constexpr std::uint32_t kLong = 1024;
  const OpenRequests& open = *end.open;
  if (open.payload < kLong || open.largest_answered >= open.payload) return {};
  const ConnectionSetup* const setup = setup_of(facts, *end.session);
  const bool came_up = setup != nullptr && setup->end() == analysis::SetupEnd::done;
  if (open.largest_answered == 0 && !came_up) return {};
  return fmt::format(
      " {} passed, and these packets have {} bytes of payload: the path may have a smaller MTU.",
      open.largest_answered == 0 ? std::string("The short messages of the set-up")
                                 : fmt::format("Packets of up to {} bytes", open.largest_answered),
      open.payload);
}

/// `alone`: whether it describes this connection only.
std::string reason_text(const Facts& facts, const OpenEnd& end, bool alone) {
  const Silence silence = silence_of(facts, end);
  Words words;
  const ConnectionSetup* const setup = setup_of(facts, *end.session);
  const bool ended = setup != nullptr && setup->disconnected_by();
  const std::string at = ended ? disconnect_text(*setup) : std::string();
  words.add("at", alone ? at : "In the first of them, " + at);
  std::string text = words.fill(
      std::ranges::find(kSilences, silence, &std::pair<Silence, std::string_view>::first)->second);
  if (silence == Silence::stopped || silence == Silence::never || silence == Silence::one_direction)
    text += size_text(facts, end);
  if (!ended || !alone || silence == Silence::disconnected) return text;
  return fmt::format("{} Then {}.", text, at);
}

/// Of several connections: each reason once, with the number of the connections.
std::string reasons_text(const Facts& facts, const std::vector<OpenEnd>& ends) {
  std::map<Silence, std::vector<const OpenEnd*>> by_silence;
  for (const OpenEnd& end : ends) by_silence[silence_of(facts, end)].push_back(&end);
  std::string text;
  for (const auto& [silence, alike] : by_silence)
    text += fmt::format("{}{}{}", text.empty() ? "" : " ",
                        by_silence.size() == 1 ? "" : fmt::format("Of {}: ", alike.size()),
                        reason_text(facts, *alike.front(), alike.size() == 1));
  return text;
}

/// One connection.
std::string open_text(const Facts& facts, const OpenEnd& end) {
  const OpenRequests& open = *end.open;
  const Ends ends = ends_of(facts.evidence.analyst, *end.session, end.direction);
  const std::string what =
      open.ever_answered
          ? fmt::format("{} of connection {} ({} to {}) got no answer",
                        counted(open.packets, "request packet"), end.session->number, ends.from,
                        ends.to)
          : fmt::format("No answer ever came to connection {} ({} to {}): {}", end.session->number,
                        ends.from, ends.to, counted(open.packets, "request packet"));
  const std::string sent =
      open.waits.count == 0
          ? std::string("sent once")
          : fmt::format("{}, {} in all", retries_text(open.waits), rounded(open.span()));
  return fmt::format("{}{}{}{}. {}", what, open.ever_answered ? ": " : ", ", sent,
                     was_given_up(facts.evidence, open) ? "; then its sender gave up" : "",
                     reason_text(facts, end, true));
}

/// Several connections.
std::string open_texts(const Facts& facts, const Group& group, const std::vector<OpenEnd>& ends) {
  const OpenEnd& longest =
      *std::ranges::max_element(ends, {}, [](const OpenEnd& end) { return end.open->span(); });
  const auto never =
      std::ranges::count_if(ends, [](const OpenEnd& end) { return !end.open->ever_answered; });
  return fmt::format(
      "{} of {} got no answer until the end of the capture; the longest, of connection {}: {}, {} "
      "in "
      "all{}. {}",
      counted(group.packets, "request packet"), counted(ends.size(), "connection"),
      longest.session->number, retries_text(longest.open->waits), rounded(longest.open->span()),
      never == 0 ? "" : fmt::format("; {} of these connections never got any", never),
      reasons_text(facts, ends));
}

std::string unanswered_text(const Facts& facts, const Group& group) {
  if (group.cause == Cause::rnr_exhausted)
    return fmt::format(
        "{} found no receive buffer: the receiver refused with RNR NAKs until the sender's retries "
        "were used up, and the connection ended.",
        counted(group.packets, "request packet"));
  if (group.cause == Cause::fatal_nak)
    return fmt::format("{} got no answer after a fatal NAK, which ended the connection.",
                       counted(group.packets, "request packet"));
  std::vector<OpenEnd> ends = open_ends(facts.evidence);
  std::erase_if(ends,
                [&](const OpenEnd& end) { return !group.sessions.contains(end.session->number); });
  if (ends.empty()) return plain_text(facts, group);
  return ends.size() == 1 ? open_text(facts, ends.front()) : open_texts(facts, group, ends);
}

// What stands in the way.

std::string icmp_text(const Facts&, const Group& group) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> messages;
  for (const auto& [message, count] : group.details)
    if (messages.size() < kMostNamed) messages.push_back(message);
  return fmt::format("A device refused packets {}: {}{}.",
                     group.packets == 1 ? "once" : fmt::format("{} times", group.packets),
                     fmt::join(messages, "; "),
                     group.details.size() > kMostNamed ? "; and more" : "");
}

std::string unresolved_text(const Facts&, const Group& group) {
  return fmt::format(
      "{} for the link address of a peer got no answer ({}): the host is down, or not in this "
      "network, or "
      "its answers do not pass here.",
      counted(group.packets, "ARP or neighbour request"), details_of(group));
}

std::string disconnected_text(const Facts& facts, const Group& group) {
  for (const OpenEnd& end : open_ends(facts.evidence))
    if (group.sessions.contains(end.session->number)) return {};  // its requests name it
  return fmt::format("{} ended a connection (DREQ) while {} open: {}.",
                     verb(group.events, "A host", "Hosts"),
                     group.packets == 1 ? "1 request packet was"
                                        : fmt::format("{} request packets were", group.packets),
                     details_of(group));
}

std::string dreq_text(const Facts&, const Group& group) {
  return fmt::format(
      "{} to disconnect (DREQ) got no answer ({}): the other end has stopped, or the path there or "
      "back is "
      "cut.",
      counted(group.packets, "request"), details_of(group));
}

std::string rnr_text(const Facts&, const Group& group) {
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

std::string stall_text(const Facts&, const Group& group) {
  return fmt::format(
      "Requests waited in silence {} until an answer came, up to {}, far longer than the "
      "connection's round trips. The capture does not show where the wait arose.",
      group.events == 1 ? "once" : fmt::format("{} times", group.events),
      format_duration(group.longest));
}

constexpr Telling kAnswerTellings[] = {
    {AnomalyKind::unanswered, Severity::fatal, unanswered_text},
    {AnomalyKind::icmp_refused, Severity::fatal, icmp_text},
    {AnomalyKind::address_unresolved, Severity::fatal, unresolved_text},
    {AnomalyKind::disconnected, Severity::fatal, disconnected_text},
    {AnomalyKind::disconnect_unanswered, Severity::harm, dreq_text},
    {AnomalyKind::rnr_nak, Severity::harm, rnr_text},
    {AnomalyKind::stall, Severity::note, stall_text},
};

// The answer.

struct Answers {
  std::uint64_t connections = 0;  // that ask for answers
  std::uint64_t one_sided = 0;    // of these: without any, and without a sign of one
  std::uint64_t open = 0;         // with requests that have none
  std::uint64_t never = 0;        // of these: no request has one
  std::uint64_t icmp = 0, unresolved = 0, ended = 0, undisconnected = 0, not_ready = 0;
};

Answers answers_of(const Facts& facts) {
  Answers all;
  for (const analysis::Session& session : facts.evidence.analyst.sessions())
    for (const auto& direction : session.directions) {
      if (!direction.stream) continue;
      const auto transport = any_flow(facts.evidence.analyst, session).transport;
      if (transport == wire::Transport::uc || transport == wire::Transport::ud) continue;
      ++all.connections;
      const auto& open = direction.stream->open_requests();
      const bool reported = open && open->reported;
      all.open += reported;
      all.never += reported && !open->ever_answered;
      all.one_sided += direction.stream->counts().responses == 0 && !reported;
    }
  const auto packets_of_kind = [&](AnomalyKind kind) {
    return facts.packets_of([kind](const Group& group) { return group.kind == kind; });
  };
  all.icmp = packets_of_kind(AnomalyKind::icmp_refused);
  all.unresolved = packets_of_kind(AnomalyKind::address_unresolved);
  all.not_ready = packets_of_kind(AnomalyKind::rnr_nak);
  all.ended = packets_of_kind(AnomalyKind::disconnected);
  all.undisconnected = packets_of_kind(AnomalyKind::disconnect_unanswered);
  return all;
}

constexpr AnswerRow<Answers> kAnswerRows[] = {
    {[](const Answers& a) { return a.never > 0; }, Health::wrong,
     "{never} of {connections} with requests never got an answer, {open} in all have requests "
     "without "
     "one{icmp}"},
    {[](const Answers& a) { return a.open > 0; }, Health::wrong,
     "{open} of {connections} {have} requests without an answer until the end{icmp}"},
    {[](const Answers& a) { return a.icmp > 0; }, Health::wrong,
     "a device refused {refused} by ICMP"},
    {[](const Answers& a) { return a.unresolved > 0; }, Health::wrong,
     "a peer's link address was asked for {unresolved} without an answer"},
    {[](const Answers& a) { return a.ended > 0; }, Health::wrong,
     "connections were ended while requests were open"},
    {[](const Answers& a) { return a.undisconnected > 0; }, Health::wrong,
     "requests to disconnect (DREQ) got no answer"},
    {[](const Answers& a) { return a.not_ready > 0; }, Health::wrong,
     "yes, but {not_ready} with an RNR NAK: no receive buffer was posted"},
    {[](const Answers& a) { return a.connections == 0; }, Health::cannot_tell,
     "no request that asks for an answer was followed"},
    {[](const Answers& a) { return a.one_sided == a.connections; }, Health::cannot_tell,
     "the capture holds no answers"},
    {[](const Answers& a) { return a.one_sided > 0; }, Health::fine,
     "no request waits for an answer at the end; the answers of {one_sided} of {connections} are "
     "not in the "
     "capture"},
    {[](const Answers&) { return true; }, Health::fine,
     "no request waits for an answer at the end"},
};

}  // namespace

Answer ask_answers(const Facts& facts) {
  const Answers all = answers_of(facts);
  Words words;
  words.add("connections", counted(all.connections, "direction"));
  words.add("have", verb(all.open, "has", "have"));
  words.add("never", all.never);
  words.add("open", all.open);
  words.add("refused", counted(all.icmp, "packet"));
  words.add("unresolved", counted(all.unresolved, "time"));
  words.add("not_ready", counted(all.not_ready, "time"));
  words.add("one_sided", all.one_sided);
  words.add("icmp", all.icmp > 0
                        ? fmt::format("; a device refused {} by ICMP", counted(all.icmp, "packet"))
                        : std::string());
  return answer_of<Answers>(OperatorQuestion::answers, kAnswerRows, all, words,
                            facts.statements_about(OperatorQuestion::answers, kAnswerTellings));
}

}  // namespace lw::dissect
