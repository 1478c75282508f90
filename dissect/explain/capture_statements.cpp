// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/capture_statements.h"

#include <fmt/format.h>

#include "capture/link_names.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::Session;
using Group = AnomalyGroup;

/// `text`: what follows the number of frames.
Statement not_followed(std::string topic, std::uint64_t frames, const std::string& text) {
  return {.severity = Severity::capture,
          .topic = std::move(topic),
          .text = fmt::format("{} {}, and nothing is said of them.", frames, text),
          .events = frames,
          .show = "summary"};
}

void add_what_was_not_followed(const Evidence& evidence, std::vector<Statement>& all) {
  const CaptureTotals& totals = evidence.totals;
  if (totals.cut > 0)
    all.push_back({.severity = Severity::capture,
                   .topic = "cut_frames",
                   .text = fmt::format("The capture cut {} of {} RoCE frames: their ICRCs cannot "
                                       "be checked, and bytes that it cut are not judged.",
                                       totals.cut, totals.roce),
                   .events = totals.cut,
                   .show = "verify"});
  if (totals.fragments > 0)
    all.push_back({.severity = Severity::capture,
                   .topic = "fragments",
                   .text = fmt::format("{} came in IP fragments, which is legal: headers and "
                                       "length are from the first one, ICRCs and data were not "
                                       "checked.",
                                       counted(totals.fragments, "packet")),
                   .events = totals.fragments,
                   .show = "summary"});
  for (const auto& [link_type, frames] : totals.unopened)
    all.push_back(not_followed("link_types", frames,
                               fmt::format("of {} frames have the link type {}, which is not "
                                           "supported: they were not read",
                                           totals.frames, capture::link_type_text(link_type))));
  for (const auto& [tunnel, frames] : totals.tunnels)
    all.push_back(not_followed("tunnels", frames,
                               fmt::format("of {} frames are in a tunnel that is not opened ({}): "
                                           "what they carry was not read",
                                           totals.frames, tunnel)));
  for (const auto& [opcode, frames] : totals.opcodes)
    all.push_back(not_followed("unknown_opcodes", frames,
                               fmt::format("of {} RoCE frames have the opcode {:#04x}, which the "
                                           "specification does not define: they were not followed",
                                           totals.roce, opcode)));
}

bool is_one_sided(const Session& session) {
  return session.directions[0].packets == 0 || session.directions[1].packets == 0;
}

void add_one_sided(const Evidence& evidence, std::vector<Statement>& all) {
  Statement found{.severity = Severity::capture, .topic = "one_direction", .text = {}};
  for (const Session& session : evidence.analyst.sessions()) {
    const auto& stream = session.directions[session.directions[0].stream ? 0 : 1].stream;
    if (!is_one_sided(session) || !stream || stream->setup().answered) continue;
    if (any_flow(evidence.analyst, session).transport != wire::Transport::rc) continue;
    found.sessions.push_back(session.number);
    if (found.frames.size() < Group::kMostFrames) found.frames.push_back(session.first_frame);
  }
  if (found.sessions.empty()) return;
  found.events = found.sessions.size();
  found.text = fmt::format(
      "The capture holds one direction only of {}: no round trip, and of a "
      "missing packet nothing tells whether it was lost.",
      counted(found.events, "connection"));
  found.show = "sessions";
  all.push_back(std::move(found));
}

/// Connections whose two directions were paired by a guess.
void add_guessed_pairs(const Evidence& evidence, std::vector<Statement>& all) {
  Statement found{.severity = Severity::capture, .topic = "paired_by_guess", .text = {}};
  for (const Session& session : evidence.analyst.sessions()) {
    if (any_flow(evidence.analyst, session).paired_by != analysis::PairedBy::order) continue;
    found.sessions.push_back(session.number);
    if (found.frames.size() < Group::kMostFrames) found.frames.push_back(session.first_frame);
  }
  if (found.sessions.empty()) return;
  found.events = found.sessions.size();
  found.text = fmt::format(
      "Which answers belong to which requests is a guess for {}: their PSNs and UDP ports are "
      "alike, so the first answers were given to the first requests.",
      counted(found.events, "connection"));
  found.show = "sessions --json";
  all.push_back(std::move(found));
}

}  // namespace

void add_capture_statements(const Evidence& evidence, std::vector<Statement>& all) {
  add_guessed_pairs(evidence, all);
  add_one_sided(evidence, all);
  add_what_was_not_followed(evidence, all);
}

}  // namespace lw::dissect
