// SPDX-License-Identifier: BSD-3-Clause
// Did the connections come up: who asked whom, and how did it end?
#include "dissect/explain/questions/setup.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity.h"
#include "dissect/sessions/result_rows.h"
#include "dissect/sessions/setup_words.h"

namespace lw::dissect {
namespace {

using analysis::AnomalyKind;
using analysis::ConnectionSetup;
using analysis::SetupEnd;
using Step = ConnectionSetup::Step;

std::uint64_t service_of(const ConnectionSetup& setup) {
  return setup.request ? setup.request->service_id : 0;
}

/// Set-ups between the same hosts that ended alike.
struct Alike {
  std::vector<const ConnectionSetup*> setups;

  [[nodiscard]] const ConnectionSetup& first() const { return *setups.front(); }
  [[nodiscard]] std::uint64_t requests() const {
    std::uint64_t requests = 0;
    for (const ConnectionSetup* setup : setups) requests += setup->requests().count;
    return requests;
  }
  [[nodiscard]] Duration span() const {
    Instant begin = Instant::max(), end = Instant::min();
    for (const ConnectionSetup* setup : setups) {
      begin = std::min(begin, setup->requests().first);
      end = std::max(end, setup->requests().last);
    }
    return stamp_difference(end, begin);
  }
};

using AlikeKey = std::tuple<std::uint32_t, SetupEnd, std::uint16_t, std::uint8_t, bool,
                            analysis::HostAddress, analysis::HostAddress>;

bool failed(SetupEnd end) {
  return end == SetupEnd::rejected || end == SetupEnd::unanswered || end == SetupEnd::unconfirmed;
}

std::vector<Alike> failures_of(const Facts& facts) {
  std::map<AlikeKey, Alike> all;
  for (const ConnectionSetup& setup : facts.evidence.analyst.setups().setups()) {
    const SetupEnd end = setup.end();
    if (!failed(end)) continue;
    all[{setup.point, end, setup.reject ? setup.reject->reason : std::uint16_t{0},
         setup.reject ? setup.reject->rejected : std::uint8_t{0}, setup.of_service, setup.requester,
         setup.replier}]
        .setups.push_back(&setup);
  }
  std::vector<Alike> alike;
  for (auto& [key, setups] : all) alike.push_back(std::move(setups));
  std::ranges::sort(alike, {}, [](const Alike& one) { return one.first().first_frame(); });
  return alike;
}

// The sentences. {from} asked {to} for {service}; {times}: "3 times", "once".

constexpr std::string_view kRejected =
    "{from} asked {to} for {service} {times}, and was refused{each} with {reason}{meaning}.{more}";
constexpr std::string_view kRejectedByRequester =
    "{to} accepted a connection to {service} {times}, and {from}, who had asked for it, ended each "
    "with {reason}{meaning}.{more}";
constexpr std::string_view kUnanswered =
    "{from} asked {to} for {service} with {requests}{span}, and was never answered: {to} is down "
    "or cannot "
    "be reached, a firewall drops the requests, or the answers are lost.{more}";
constexpr std::string_view kRefused =
    "{from} asked {to} for {service} with {requests}{span}, and was never answered: a device "
    "refuses the "
    "requests by ICMP (frame {icmp}).{more}";
constexpr std::string_view kUnconfirmed =
    "{to} accepted a connection to {service} {times} with {replies}, and {from} never confirmed it "
    "(RTU): "
    "{from} has stopped, or the replies did not reach it.{more}";

std::string_view sentence_of(const ConnectionSetup& setup) {
  switch (setup.end()) {
    case SetupEnd::rejected:
      return !setup.of_service && setup.of(ConnectionSetup::kReplier, Step::rej).count == 0
                 ? kRejectedByRequester
                 : kRejected;
    case SetupEnd::unconfirmed:
      return kUnconfirmed;
    default:
      return setup.refused_by != 0 ? kRefused : kUnanswered;
  }
}

std::string meaning_text(const ConnectionSetup& setup) {
  if (!setup.reject) return {};
  const std::uint16_t code = setup.reject->reason;
  const std::string_view meaning =
      setup.of_service ? sidr_meaning(static_cast<std::uint8_t>(code)) : reject_meaning(code);
  return meaning.empty() ? "" : fmt::format(": {}", meaning);
}

/// "16 requests (REQ) in 64.4 s": how many, and of which kind.
std::string requests_text(const Alike& alike) {
  const std::string_view kind = alike.first().of_service ? "SIDR_REQ" : "REQ";
  return fmt::format("{} ({})", counted(alike.requests(), "request"), kind);
}

/// "service 0x1061c06 (RDMA CM, TCP port 7174)", and how many others.
std::string services_text(const Alike& alike) {
  if (!alike.first().request) return "a connection";
  std::set<std::uint64_t> services;
  for (const ConnectionSetup* const setup : alike.setups) services.insert(service_of(*setup));
  const std::string first = service_text(service_of(alike.first()));
  if (services.size() == 1) return first;
  return fmt::format("{} and {}", first, counted(services.size() - 1, "other service"));
}

/// What else passed: who asked for more time, and what was asked for.
std::string more_text(const ConnectionSetup& setup) {
  std::string text;
  for (const std::uint8_t side : {ConnectionSetup::kRequester, ConnectionSetup::kReplier})
    if (const auto& mra = setup.of(side, Step::mra); mra.count > 0)
      text += fmt::format(
          " {} asked for more time (MRA) {}.",
          address_text(side == ConnectionSetup::kRequester ? setup.requester : setup.replier),
          counted(mra.count, "time"));
  if (setup.is_withdrawn())
    text += fmt::format(" {} then gave up (REJ, {}).", address_text(setup.requester),
                        reject_text(setup));
  if (const std::string agreed = agreement_text(setup); !agreed.empty())
    text += fmt::format(" Asked for: {}.", agreed);
  return text;
}

std::string text_of(const Alike& alike) {
  const ConnectionSetup& setup = alike.first();
  const auto& rep = setup.of(ConnectionSetup::kReplier, Step::rep);
  const Duration span = alike.span();
  const std::size_t times = alike.setups.size();
  Words words;
  words.add("from", address_text(setup.requester));
  words.add("to", address_text(setup.replier));
  words.add("service", services_text(alike));
  words.add("times", times == 1 ? std::string("once") : fmt::format("{} times", times));
  words.add("each", times == 1 ? std::string() : std::string(" each time"));
  words.add("reason", reject_text(setup));
  words.add("meaning", meaning_text(setup));
  words.add("requests", requests_text(alike));
  words.add("replies", rep.count == 1 ? std::string("1 reply (REP)")
                                      : fmt::format("{} replies (REP)", rep.count));
  words.add("span", span > Duration{} ? " in " + rounded(span) : std::string());
  words.add("icmp", setup.refused_by);
  words.add("more", more_text(setup));
  return words.fill(sentence_of(setup));
}

AnomalyKind kind_of(SetupEnd end) {
  if (end == SetupEnd::rejected) return AnomalyKind::connect_rejected;
  return end == SetupEnd::unconfirmed ? AnomalyKind::connect_unconfirmed
                                      : AnomalyKind::connect_unanswered;
}

/// The frame that shows how a set-up failed.
std::uint64_t frame_of(const ConnectionSetup& setup) {
  const auto& rep = setup.of(ConnectionSetup::kReplier, Step::rep);
  if (setup.end() == SetupEnd::rejected && !setup.of_service) return setup.rejects().first_frame;
  return rep.count > 0 ? rep.first_frame : setup.requests().first_frame;
}

Statement statement_of(const Facts& facts, const Alike& alike) {
  const ConnectionSetup& setup = alike.first();
  const std::string_view kind = analysis::name_of(kind_of(setup.end()));
  Statement statement{.severity = Severity::fatal,
                      .topic = std::string(kind),
                      .text = at_point(facts.evidence, setup.point) + text_of(alike),
                      .events = alike.setups.size(),
                      .packets = alike.requests(),
                      .show = fmt::format("anomalies --kind {}", kind),
                      .question = OperatorQuestion::setup};
  for (const ConnectionSetup* each : alike.setups)
    if (statement.frames.size() < AnomalyGroup::kMostFrames)
      statement.frames.push_back(frame_of(*each));
  return statement;
}

// The answer.

struct Setups {
  std::uint64_t rejected = 0, unanswered = 0, unconfirmed = 0, done = 0, open = 0, ended = 0;
  std::uint64_t without = 0;  // connections whose set-up is not in the capture
  std::uint64_t again = 0;    // requests that were sent again, before one was answered
  Duration longest{};         // of those that came up

  [[nodiscard]] std::uint64_t failed() const noexcept {
    return rejected + unanswered + unconfirmed;
  }
};

void add(Setups& all, const ConnectionSetup& setup) {
  switch (setup.end()) {
    case SetupEnd::rejected:
      ++all.rejected;
      return;
    case SetupEnd::unanswered:
      ++all.unanswered;
      return;
    case SetupEnd::unconfirmed:
      ++all.unconfirmed;
      return;
    case SetupEnd::open:
      ++all.open;
      return;
    case SetupEnd::before:
      ++all.ended;
      return;
    case SetupEnd::done:
      ++all.done;
      all.again += setup.requests().count > 1 ? setup.requests().count - 1 : 0;
      all.longest = std::max(all.longest, setup.duration().value_or(Duration{}));
  }
}

Setups setups_of(const Facts& facts) {
  Setups all;
  for (const ConnectionSetup& setup : facts.evidence.analyst.setups().setups()) add(all, setup);
  for (const analysis::Session& session : facts.evidence.analyst.sessions()) {
    const bool has_stream = session.directions[0].stream || session.directions[1].stream;
    const auto transport = any_flow(facts.evidence.analyst, session).transport;
    const bool is_done =
        session.setup != 0 &&
        facts.evidence.analyst.setups().setups()[session.setup - 1].end() == SetupEnd::done;
    all.without += has_stream && !is_done && transport != wire::Transport::ud;
  }
  return all;
}

std::string failures_text(const Setups& all) {
  std::vector<std::string> parts;
  if (all.rejected > 0) parts.push_back(fmt::format("{} refused (REJ)", all.rejected));
  if (all.unanswered > 0) parts.push_back(fmt::format("{} never answered", all.unanswered));
  if (all.unconfirmed > 0)
    parts.push_back(fmt::format("{} never confirmed (RTU)", all.unconfirmed));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string came_up_text(const Setups& all) {
  std::string text =
      all.done == 1 ? "1 connection came up" : fmt::format("{} connections came up", all.done);
  if (all.longest > Duration{}) text += fmt::format(", within {}", rounded(all.longest));
  if (all.again > 0) text += fmt::format(", after {}", counted(all.again, "repeated request"));
  return text;
}

constexpr AnswerRow<Setups> kSetupRows[] = {
    {[](const Setups& s) { return s.failed() > 0; }, Health::wrong,
     "requests to connect: {failures}; {came_up}"},
    {[](const Setups& s) { return s.done > 0 && s.without == 0; }, Health::fine, "{came_up}"},
    {[](const Setups& s) { return s.done > 0; }, Health::fine,
     "{came_up}; the set-up of {without} is not in the capture"},
    {[](const Setups& s) { return s.open > 0; }, Health::cannot_tell,
     "the capture ends before {open} could be answered"},
    {[](const Setups& s) { return s.without == 0; }, Health::cannot_tell,
     "no connection was asked for"},
    {[](const Setups&) { return true; }, Health::cannot_tell,
     "the capture does not hold their set-up: it began later, or the peers agreed in another way"},
};

}  // namespace

Answer ask_setup(const Facts& facts) {
  std::vector<Statement> statements;
  for (const Alike& alike : failures_of(facts)) statements.push_back(statement_of(facts, alike));
  const Setups all = setups_of(facts);
  Words words;
  words.add("failures", failures_text(all));
  words.add("came_up", all.done == 0 ? std::string("none came up") : came_up_text(all));
  words.add("without", counted(all.without, "other"));
  words.add("open", counted(all.open, "request"));
  return answer_of<Setups>(OperatorQuestion::setup, kSetupRows, all, words, std::move(statements));
}

}  // namespace lw::dissect
