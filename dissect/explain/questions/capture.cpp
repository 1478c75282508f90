// SPDX-License-Identifier: BSD-3-Clause
// Is the capture good enough: complete, both directions, ICRCs, stamps, points?
#include "dissect/explain/questions/capture.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capture/link_names.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::AnomalyKind;
using analysis::Session;
using Group = AnomalyGroup;

// Statements.

Statement about_capture(std::string topic, std::uint64_t events, std::string text,
                        std::string show = "summary") {
  return {.severity = Severity::capture,
          .topic = std::move(topic),
          .text = std::move(text),
          .events = events,
          .show = std::move(show),
          .question = OperatorQuestion::capture};
}

/// `text`: what follows the number of frames.
Statement not_followed(std::string topic, std::uint64_t frames, const std::string& text) {
  return about_capture(std::move(topic), frames,
                       fmt::format("{} {}, and nothing is said of them.", frames, text));
}

void add_what_was_cut(const Evidence& evidence, std::vector<Statement>& all) {
  const CaptureTotals& totals = evidence.totals;
  std::uint64_t by_mirror = 0;
  for (const Session& session : evidence.analyst.sessions())
    for (const auto& direction : session.directions) by_mirror += direction.cut_by_mirror;
  if (by_mirror > 0)
    all.push_back(about_capture(
        "cut_by_mirror", by_mirror,
        fmt::format(
            "{} frames are shorter than their IP packets, all are cut at one length, and none is "
            "longer: a mirror truncates them. Their ICRCs cannot be checked.",
            by_mirror),
        "verify"));
  if (totals.cut > 0)
    all.push_back(
        about_capture("cut_frames", totals.cut,
                      fmt::format("The capture cut {} of {} RoCE frames: their ICRCs cannot "
                                  "be checked, and bytes that it cut are not judged.",
                                  totals.cut, totals.roce),
                      "verify"));
  if (totals.fragments > 0)
    all.push_back(
        about_capture("fragments", totals.fragments,
                      fmt::format("{} came in IP fragments, which is legal: headers and "
                                  "length are from the first one, ICRCs and data were not "
                                  "checked.",
                                  counted(totals.fragments, "packet"))));
}

void add_what_was_not_followed(const Evidence& evidence, std::vector<Statement>& all) {
  const CaptureTotals& totals = evidence.totals;
  for (const auto& [link_type, frames] : totals.unopened)
    all.push_back(not_followed("link_types", frames,
                               fmt::format("of {} frames have the link type {}, which is not "
                                           "supported: they were not read",
                                           totals.frames, capture::link_type_text(link_type))));
  for (const auto& [tunnel, frames] : totals.tunnels)
    all.push_back(not_followed("tunnels", frames,
                               fmt::format("of {} frames have a header that is not opened ({}): "
                                           "what they carry was not read",
                                           totals.frames, tunnel)));
  for (const auto& [opcode, frames] : totals.opcodes)
    all.push_back(not_followed("unknown_opcodes", frames,
                               fmt::format("of {} RoCE frames have the opcode {:#04x}, which the "
                                           "specification does not define: they were not followed",
                                           totals.roce, opcode)));
}

bool is_one_sided(const Evidence& evidence, const Session& session) {
  const auto& stream = session.directions[session.directions[0].stream ? 0 : 1].stream;
  if (session.directions[0].packets > 0 && session.directions[1].packets > 0) return false;
  if (!stream || stream->setup().answered) return false;
  if (any_flow(evidence.analyst, session).transport != wire::Transport::rc) return false;
  const auto& open = stream->open_requests();
  if (open && open->reported) return false;  // its peer does not answer
  const std::uint32_t flow = session.directions[stream->setup().direction].flow;
  return flow == analysis::QpFlow::kNone || !evidence.analyst.flows().has_answers_to_source(flow);
}

/// The sessions for which `is_such` is true, as a statement without text.
template <class IsSuch>
Statement about_sessions(const Evidence& evidence, std::string topic, std::string show,
                         IsSuch is_such) {
  Statement found = about_capture(std::move(topic), 0, {}, std::move(show));
  for (const Session& session : evidence.analyst.sessions()) {
    if (!is_such(session)) continue;
    found.sessions.push_back(session.number);
    if (found.frames.size() < Group::kMostFrames) found.frames.push_back(session.first_frame);
  }
  found.events = found.sessions.size();
  return found;
}

void add_one_sided(const Evidence& evidence, std::vector<Statement>& all) {
  Statement found =
      about_sessions(evidence, "one_direction", "connections",
                     [&](const Session& session) { return is_one_sided(evidence, session); });
  if (found.events == 0) return;
  found.text = fmt::format(
      "The capture holds one direction only of {}: no round trip, and of a "
      "missing packet nothing tells whether it was lost.",
      counted(found.events, "connection"));
  all.push_back(std::move(found));
}

/// Connections whose two directions were paired by a guess.
void add_guessed_pairs(const Facts& facts, std::vector<Statement>& all) {
  const Evidence& evidence = facts.evidence;
  Statement found = about_sessions(
      evidence, "paired_by_guess", "connections --json", [&](const Session& session) {
        return any_flow(evidence.analyst, session).paired_by == analysis::PairedBy::order;
      });
  if (found.events == 0) return;
  found.text = fmt::format(
      "Which answers belong to which requests is a guess for {}: {}, so the first answers were "
      "given to "
      "the first requests.",
      counted(found.events, "connection"),
      is_sample(facts) ? "the frames that would tell are missing"
                       : "their PSNs fit several, and no UDP port tells");
  all.push_back(std::move(found));
}

void add_drops(const Evidence& evidence, std::vector<Statement>& all) {
  const CaptureTotals& totals = evidence.totals;
  if (totals.dropped > 0)
    all.push_back(about_capture(
        "dropped_by_capture", totals.dropped,
        fmt::format(
            "The capturing dropped {}, by the file's own count: what is missing here need not be "
            "lost.",
            counted(totals.dropped, "frame"))));
}

// The answer.

struct Quality {
  std::uint64_t frames = 0, roce = 0, dropped = 0, connections = 0, one_sided = 0;
  CaptureShare share;
  bool sample = false;
  bool incomplete = false;
};

std::vector<Statement> statements_of(const Facts& facts) {
  std::vector<Statement> all;
  add_drops(facts.evidence, all);
  add_guessed_pairs(facts, all);
  add_one_sided(facts.evidence, all);
  add_what_was_cut(facts.evidence, all);
  add_what_was_not_followed(facts.evidence, all);
  return all;
}

Quality quality_of(const Facts& facts) {
  const Evidence& evidence = facts.evidence;
  Quality quality{.frames = evidence.totals.frames,
                  .roce = evidence.totals.roce,
                  .dropped = evidence.totals.dropped,
                  .share = share_of(evidence),
                  .sample = is_sample(facts)};
  quality.incomplete = evidence.analyst.facts().is_incomplete();
  for (const Session& session : evidence.analyst.sessions()) {
    if (!session.directions[0].stream && !session.directions[1].stream) continue;
    ++quality.connections;
    quality.one_sided += is_one_sided(evidence, session);
  }
  return quality;
}

/// "12 TCP, 3 ARP": what the frames are, if none is RoCE; the most frequent first.
std::string others_text(const CaptureTotals& totals) {
  constexpr std::size_t kMostNamed = 5;
  std::map<std::string, std::uint64_t> by_name;
  for (const auto& [protocol, frames] : totals.others)
    by_name[other_protocol_name(protocol)] += frames;
  std::vector<std::pair<std::uint64_t, std::string>> sorted;
  for (const auto& [name, frames] : by_name) sorted.emplace_back(frames, name);
  std::ranges::sort(sorted, std::greater<>{});
  if (sorted.size() > kMostNamed) sorted.resize(kMostNamed);
  std::vector<std::string> parts;
  for (const auto& [frames, name] : sorted) parts.push_back(fmt::format("{} {}", frames, name));
  return parts.empty() ? "" : fmt::format(": {}", fmt::join(parts, ", "));
}

/// "; ICRCs of 12 flows are missing", and what else limits the answers.
std::string limits_text(const Facts& facts) {
  std::string text;
  const std::uint64_t no_icrcs =
      facts.events_of([](const Group& group) { return group.kind == AnomalyKind::no_icrcs; });
  if (no_icrcs > 0)
    text += fmt::format("; ICRCs of {} were not written yet", counted(no_icrcs, "flow"));
  if (facts.evidence.totals.cut > 0)
    text += fmt::format("; {} of {} frames are cut", facts.evidence.totals.cut,
                        facts.evidence.totals.roce);
  if (facts.evidence.totals.followed() == Followed::part) text += "; some frames were not followed";
  return text;
}

constexpr AnswerRow<Quality> kCaptureRows[] = {
    {[](const Quality& q) { return q.roce == 0; }, Health::cannot_tell,
     "none of its {frames} is RoCE{others}"},
    {[](const Quality& q) { return q.sample; }, Health::wrong,
     "it holds {held:.3g} % of the packets that passed, as PSNs show: a sample, or a mirror that "
     "lost the "
     "others. Rates, bytes and numbers of messages are computed from PSNs and hold; losses, order "
     "and "
     "single times do not show"},
    {[](const Quality& q) { return q.dropped > 0; }, Health::wrong,
     "the capturing dropped {dropped}, by the file's own count{limits}"},
    {[](const Quality& q) { return q.incomplete; }, Health::wrong,
     "it lacks {missing} of {packets} that the network carried{limits}"},
    {[](const Quality& q) { return q.one_sided > 0; }, Health::wrong,
     "it holds one direction only of {one_sided} of {connections}{limits}"},
    {[](const Quality& q) { return q.connections == 0; }, Health::fine,
     "{roce}, of no connection{limits}"},
    {[](const Quality&) { return true; }, Health::fine,
     "complete as far as it shows, both directions of {connections}{limits}"},
};

}  // namespace

CaptureShare share_of(const Evidence& evidence) {
  const analysis::CaptureFacts& facts = evidence.analyst.facts();
  CaptureShare whole{.packets = facts.packets, .missing = std::min(facts.missing, facts.packets)};
  CaptureShare sample;
  for (const Session& session : evidence.analyst.sessions())
    for (const auto& direction : session.directions) {
      if (!direction.stream || !direction.stream->counts().is_sample()) continue;
      const analysis::StreamCounts& counts = direction.stream->counts();
      sample.packets += counts.span;
      sample.missing += counts.span - std::min(counts.span, counts.psns_seen());
    }
  return sample.packets > 0 ? sample : whole;
}

bool is_sample(const Facts& facts) {
  for (const Session& session : facts.evidence.analyst.sessions())
    for (const auto& direction : session.directions)
      if (direction.stream && direction.stream->counts().is_sample()) return true;
  return false;
}

Answer ask_capture(const Facts& facts) {
  const Quality quality = quality_of(facts);
  Words words;
  words.add("frames", counted(quality.frames, "frame"));
  words.add("roce", counted(quality.roce, "RoCE frame"));
  words.add("others", others_text(facts.evidence.totals));
  words.add("held", 100 * quality.share.held());
  words.add("dropped", counted(quality.dropped, "frame"));
  words.add("missing", quality.share.missing);
  words.add("packets", counted(quality.share.packets, "packet"));
  words.add("one_sided", quality.one_sided);
  words.add("connections", counted(quality.connections, "connection"));
  words.add("limits", limits_text(facts));
  return answer_of<Quality>(OperatorQuestion::capture, kCaptureRows, quality, words,
                            statements_of(facts));
}

}  // namespace lw::dissect
