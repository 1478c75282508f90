// SPDX-License-Identifier: BSD-3-Clause
// Is what they sent valid: ICRCs, sizes, PSNs, keys, requests and answers?
#include "dissect/explain/questions/validity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::AnomalyKind;
using analysis::Cause;
using Group = AnomalyGroup;

// The sentences about the groups.

std::string icrc_text(const Facts&, const Group& group) {
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

/// The senders of the packets of a group, by its sessions: "10.0.0.1".
std::string senders_of(const Facts& facts, AnomalyKind kind) {
  std::set<std::string> senders;
  for (const analysis::Anomaly& anomaly : facts.evidence.anomalies)
    if (anomaly.kind == kind && anomaly.session != 0) {
      const auto ends =
          ends_of(facts.evidence.analyst, session_of(facts.evidence, anomaly), anomaly.direction);
      senders.insert(ends.from_address);
    }
  return fmt::format("{}", fmt::join(senders, ", "));
}

std::string wrong_icrcs_text(const Facts& facts, const Group& group) {
  const std::string details = details_of(group);
  return fmt::format(
      "All ICRCs of {} are written, and wrong{}: {}. Its packets are not answered as if they were "
      "right: their receiver drops them.",
      senders_of(facts, group.kind), details.empty() ? "" : ", in one way: " + details,
      counted(group.packets, "packet"));
}

std::string no_icrcs_text(const Facts&, const Group& group) {
  const std::string flows = counted(group.events, "flow");
  if (!group.is_certain())
    return fmt::format(
        "No packet of {} has a right ICRC. They were sent once and got no answer here, so nothing "
        "tells "
        "whether they were captured where the NIC has yet to write it, or are wrong, and dropped.",
        flows);
  return fmt::format(
      "No packet of {} has a right ICRC, and they are answered as if it were right, or all are one "
      "constant: it was captured where the NIC has yet to write it. ICRCs are not judged there.",
      flows);
}

std::string wrong_answer_text(const Facts&, const Group& group) {
  return fmt::format(
      "{} that no request allows: {}. That is the responder's fault; nothing was lost. The "
      "requester "
      "does not take {}.",
      counted(group.events, "answer"), details_of(group), verb(group.events, "it", "them"));
}

std::string reuse_text(const Facts&, const Group& group) {
  return fmt::format(
      "{} PSNs of other requests before them ({}): the sender is wrong. Their receiver takes them "
      "for repetitions, so it may not execute them.",
      group.packets == 1 ? "A request packet has"
                         : fmt::format("{} request packets have", group.packets),
      details_of(group));
}

std::string fatal_text(const Facts&, const Group& group) {
  if (group.cause != Cause::fatal_nak) return {};  // a question of losses
  return fmt::format(
      "{} {} refused: {}. After such a NAK the connection is in the error state, "
      "and does nothing until the application connects again.",
      counted(group.events, "request"), verb(group.events, "was", "were"), details_of(group));
}

constexpr Telling kValidityTellings[] = {
    {AnomalyKind::bad_icrc, Severity::harm, icrc_text},
    {AnomalyKind::wrong_icrcs, Severity::fatal, wrong_icrcs_text},
    {AnomalyKind::no_icrcs, Severity::capture, no_icrcs_text},
    {AnomalyKind::wrong_answer, Severity::harm, wrong_answer_text},
    {AnomalyKind::malformed, Severity::harm, plain_text},
    {AnomalyKind::read_span, Severity::harm, plain_text},
    {AnomalyKind::psn_reused, Severity::harm, reuse_text},
    {AnomalyKind::p_key, Severity::harm, plain_text},
    {AnomalyKind::ack_of_unsent, Severity::capture, plain_text},
    {AnomalyKind::nak, Severity::fatal, fatal_text},
};

// The answer.

struct Validity {
  std::uint64_t checked = 0;  // right ICRCs
  std::uint64_t packets = 0;
  std::string wrong;  // "2 malformed, 1 bad_icrc"
};

Validity validity_of(const Facts& facts, const std::vector<Statement>& statements) {
  Validity all;
  const analysis::QpFlows& flows = facts.evidence.analyst.flows();
  for (std::uint32_t i = 0; i < flows.size(); ++i) all.checked += flows[i].good_icrcs;
  for (const analysis::Session& session : facts.evidence.analyst.sessions())
    for (const auto& direction : session.directions) all.packets += direction.packets;
  for (const Statement& statement : statements)
    if (statement.is_harmful())
      all.wrong += fmt::format("{}{} x {}", all.wrong.empty() ? "" : ", ", statement.events,
                               statement.topic);
  return all;
}

constexpr AnswerRow<Validity> kValidityRows[] = {
    {[](const Validity& v) { return v.packets == 0; }, Health::cannot_tell,
     "no packet was followed"},
    {[](const Validity& v) { return !v.wrong.empty(); }, Health::wrong, "{wrong}"},
    {[](const Validity& v) { return v.checked == 0; }, Health::fine,
     "lengths, opcodes, PSNs and keys of {packets}; no ICRC could be checked"},
    {[](const Validity&) { return true; }, Health::fine,
     "lengths, opcodes, PSNs and keys of {packets}, and {checked}"},
};

}  // namespace

Answer ask_validity(const Facts& facts) {
  std::vector<Statement> statements =
      facts.statements_about(OperatorQuestion::validity, kValidityTellings);
  const Validity all = validity_of(facts, statements);
  Words words;
  words.add("wrong", all.wrong);
  words.add("packets", counted(all.packets, "packet"));
  words.add("checked", counted(all.checked, "ICRC"));
  return answer_of<Validity>(OperatorQuestion::validity, kValidityRows, all, words,
                             std::move(statements));
}

}  // namespace lw::dissect
