// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/setup/setup_findings.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "analysis/analyst.h"
#include "wire/address.h"
#include "wire/icmp.h"

namespace lw::analysis {
namespace {

using Step = ConnectionSetup::Step;
using Messages = ConnectionSetup::Messages;

std::string text_of(const HostAddress& address) {
  return wire::to_string(wire::ip_of(wire::Ipv6Address{address}));
}

std::string ends_text(const ConnectionSetup& setup) {
  return fmt::format("{} to {}", text_of(setup.requester), text_of(setup.replier));
}

// Joining.

/// Whether a request had time to be answered: it was sent again, or the capture went on.
bool had_time(const Messages& asked, Instant end) noexcept {
  constexpr Duration kLong = std::chrono::seconds{1};
  return asked.count > 1 || (asked.count > 0 && stamp_difference(end, asked.last) >= kLong);
}

const ConnectionSetup* setup_of(const SetupLog& log, const Session& session, const QpFlows& flows) {
  for (const Session::Direction& direction : session.directions) {
    if (direction.flow == QpFlow::kNone) continue;
    if (const auto* setup = log.find(flows[direction.flow].key, session.first_frame)) return setup;
  }
  return nullptr;
}

/// The sessions by the key of each of their flows.
using SessionsByFlow = std::unordered_multimap<QpFlowKey, std::uint32_t, QpFlowKeyHash>;

SessionsByFlow sessions_by_flow(const std::deque<Session>& sessions, const QpFlows& flows) {
  SessionsByFlow all;
  for (const Session& session : sessions)
    for (const Session::Direction& direction : session.directions)
      if (direction.flow != QpFlow::kNone) all.emplace(flows[direction.flow].key, session.number);
  return all;
}

/// The session of the quoted flow that was there when the first message came.
std::uint32_t session_of(const IcmpRefusals& refusals, const SessionsByFlow& by_flow,
                         const std::deque<Session>& sessions) {
  const IcmpNote& icmp = refusals.first;
  if (!icmp.qp) return 0;
  const QpFlowKey key{.source = icmp.source,
                      .destination = icmp.destination,
                      .qp = *icmp.qp,
                      .point = refusals.point};
  std::uint32_t found = 0;
  const auto [begin, end] = by_flow.equal_range(key);
  for (auto one = begin; one != end; ++one)
    if (sessions[one->second - 1].first_frame <= refusals.first_frame)
      found = std::max(found, one->second);
  return found;
}

/// Notes the ICMP messages about the connection managers' messages in the set-ups that they stop.
void join_refusals(SetupLog& log, const IcmpRefusals& refusals) {
  constexpr std::uint32_t kGeneralServices = 1;
  if (refusals.first.qp.value_or(kGeneralServices) != kGeneralServices) return;
  for (ConnectionSetup& setup : log.setups()) {
    const bool is_of_ends = setup.point == refusals.point &&
                            setup.requester == refusals.first.source &&
                            setup.replier == refusals.first.destination;
    if (is_of_ends && setup.refused_by == 0 && refusals.last_frame >= setup.first_frame())
      setup.refused_by = refusals.first_frame;
  }
}

// Judging.

Anomaly about(AnomalyKind kind, const Messages& messages, std::uint32_t session) {
  return {.kind = kind,
          .session = session,
          .frame = messages.first_frame,
          .last_frame = messages.last_frame,
          .stamp = messages.first,
          .duration = stamp_difference(messages.last, messages.first),
          .packets = messages.count};
}

void judge_rejected(const ConnectionSetup& setup, FindingLog& findings) {
  const Messages& rejects =
      setup.of_service ? setup.of(ConnectionSetup::kReplier, Step::rep) : setup.rejects();
  Anomaly found = about(AnomalyKind::connect_rejected, rejects, setup.session);
  found.related_frame = setup.requests().first_frame;
  found.detail = fmt::format("{}: {}", ends_text(setup), reject_text(setup));
  findings.add(found);
}

void judge_waiting(const ConnectionSetup& setup, FindingLog& findings) {
  const bool replied = setup.reply.has_value();
  const Messages& asked =
      replied ? setup.of(ConnectionSetup::kReplier, Step::rep) : setup.requests();
  Anomaly found =
      about(replied ? AnomalyKind::connect_unconfirmed : AnomalyKind::connect_unanswered, asked,
            setup.session);
  found.related_frame = setup.refused_by;
  found.detail = fmt::format("{}: {} x {}", ends_text(setup), asked.count,
                             replied            ? "REP"
                             : setup.of_service ? "SIDR_REQ"
                                                : "REQ");
  findings.add(found);
}

/// Requests of a session that the end of its connection left without an answer; null: none. Those
/// that a host has sent before it disconnected itself had no answer already; and of the last ones
/// before the end the capture may lack the answers.
const OpenRequests* left_open(const Session& session, const QpFlows& flows,
                              const HostAddress& disconnected_by, std::uint64_t frame) {
  for (const Session::Direction& direction : session.directions) {
    if (!direction.stream || !direction.stream->open_requests()) continue;
    const OpenRequests& open = *direction.stream->open_requests();
    const bool by_sender =
        direction.flow != QpFlow::kNone && flows[direction.flow].key.source == disconnected_by;
    if (open.last_frame > frame || (!by_sender && open.reported)) return &open;
  }
  return nullptr;
}

void judge_end(const ConnectionSetup& setup, const std::deque<Session>& sessions,
               const QpFlows& flows, FindingLog& findings) {
  const auto side = setup.disconnected_by();
  if (!side) return;
  const Messages& dreq = setup.of(*side, Step::dreq);
  const HostAddress& host = *side == ConnectionSetup::kRequester ? setup.requester : setup.replier;
  const OpenRequests* const open =
      setup.session == 0 ? nullptr
                         : left_open(sessions[setup.session - 1], flows, host, dreq.first_frame);
  if (open != nullptr) {
    Anomaly found = about(AnomalyKind::disconnected, dreq, setup.session);
    found.related_frame = open->frame;
    found.packets = open->packets;
    found.psn = open->psn;
    found.detail = fmt::format("by {}", text_of(host));
    findings.add(found);
  }
  if (!setup.is_disconnect_unanswered()) return;
  Anomaly found = about(AnomalyKind::disconnect_unanswered, dreq, setup.session);
  found.detail = fmt::format("by {}: {} x DREQ", text_of(host), dreq.count);
  findings.add(found);
}

void judge_refusals(const IcmpRefusals& refusals, FindingLog& findings) {
  const IcmpNote& icmp = refusals.first;
  const std::string_view name = wire::icmp_error_name(icmp.type, icmp.code, icmp.v6);
  findings.add(Anomaly{.kind = AnomalyKind::icmp_refused,
                       .session = refusals.session,
                       .frame = refusals.first_frame,
                       .last_frame = refusals.last_frame,
                       .stamp = refusals.since,
                       .duration = stamp_difference(refusals.until, refusals.since),
                       .psn = icmp.psn.value_or(0),
                       .packets = refusals.count,
                       .detail = fmt::format("ICMP{} type {} code {}{}{} from {}: {} to {}",
                                             icmp.v6 ? "v6" : "", icmp.type, icmp.code,
                                             name.empty() ? "" : ", ", name, text_of(icmp.sender),
                                             text_of(icmp.source), text_of(icmp.destination))});
}

/// When a host sent its last packet of a connection; nothing: none was captured.
using LastPackets = std::map<std::pair<std::uint32_t, HostAddress>, std::optional<Instant>>;

/// The addresses of all connections, also of those that never came up.
LastPackets last_packets(const SetupLog& log, const std::deque<Session>& sessions,
                         const QpFlows& flows) {
  LastPackets last;
  for (const ConnectionSetup& setup : log.setups()) {
    last[{setup.point, setup.requester}];
    last[{setup.point, setup.replier}];
  }
  for (const Session& session : sessions)
    for (const Session::Direction& direction : session.directions) {
      if (direction.flow == QpFlow::kNone) continue;
      const QpFlowKey& key = flows[direction.flow].key;
      last[{key.point, key.destination}];
      auto& sent = last[{key.point, key.source}];
      if (direction.packets > 0) sent = std::max(sent.value_or(session.last), session.last);
    }
  return last;
}

void judge_address(const AddressRequests& requests, const LastPackets& last, FindingLog& findings) {
  constexpr std::uint64_t kSeveral = 3;
  const auto peer = last.find({requests.point, requests.target});
  if (requests.count < kSeveral || peer == last.end()) return;
  if (peer->second && *peer->second > requests.since) return;
  findings.add(Anomaly{
      .kind = AnomalyKind::address_unresolved,
      .frame = requests.first_frame,
      .last_frame = requests.last_frame,
      .stamp = requests.since,
      .duration = stamp_difference(requests.until, requests.since),
      .packets = requests.count,
      .detail = fmt::format("{} asks for {}", text_of(requests.sender), text_of(requests.target))});
}

}  // namespace

void join_setups(SetupLog& log, std::deque<Session>& sessions, const QpFlows& flows, Instant end) {
  if (log.setups().empty() && log.refusals().empty()) return;
  for (Session& session : sessions) {
    const ConnectionSetup* const setup = setup_of(log, session, flows);
    if (setup == nullptr) continue;
    session.setup = setup->number;
    ConnectionSetup& joined = log.setups()[setup->number - 1];
    joined.session = session.number;
    joined.has_traffic = true;
  }
  for (ConnectionSetup& setup : log.setups())
    setup.asked_enough = had_time(
        setup.reply ? setup.of(ConnectionSetup::kReplier, Step::rep) : setup.requests(), end);
  const SessionsByFlow by_flow = sessions_by_flow(sessions, flows);
  for (IcmpRefusals& refusals : log.refusals()) {
    refusals.session = session_of(refusals, by_flow, sessions);
    join_refusals(log, refusals);
  }
}

void judge_setups(const SetupLog& log, const std::deque<Session>& sessions, const QpFlows& flows,
                  FindingLog& findings) {
  for (const ConnectionSetup& setup : log.setups()) {
    const SetupEnd end = setup.end();
    if (end == SetupEnd::rejected) judge_rejected(setup, findings);
    if (end == SetupEnd::unanswered || end == SetupEnd::unconfirmed) judge_waiting(setup, findings);
    judge_end(setup, sessions, flows, findings);
  }
  for (const IcmpRefusals& refusals : log.refusals()) judge_refusals(refusals, findings);
  const std::vector<AddressRequests> addresses = log.addresses();
  if (addresses.empty()) return;
  const LastPackets last = last_packets(log, sessions, flows);
  for (const AddressRequests& requests : addresses) judge_address(requests, last, findings);
}

}  // namespace lw::analysis
