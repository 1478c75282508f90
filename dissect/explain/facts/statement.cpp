// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/facts/statement.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::AnomalyKind;
using analysis::Cause;

/// Whether a loss, a refusal or a late packet led to a recovery of this cause.
bool leads_to(const AnomalyGroup& group, Cause recovery) {
  switch (group.kind) {
    case AnomalyKind::lost_after_capture:
      return recovery == Cause::sequence_nak;
    case AnomalyKind::psn_gap:
      return (group.cause == Cause::lost_before_capture || group.cause == Cause::trimmed) &&
             (group.role == wire::Role::response
                  ? recovery == Cause::response_lost
                  : recovery == Cause::sequence_nak || recovery == Cause::timeout);
    case AnomalyKind::rnr_nak:
      return recovery == Cause::receiver_not_ready;
    case AnomalyKind::out_of_order:
      return recovery == Cause::reordered;
    case AnomalyKind::wrong_answer:
      return recovery == Cause::answer_wrong;
    default:
      return false;
  }
}

Duration cost_of(const AnomalyGroup& group, const std::vector<AnomalyGroup>& all) {
  if (group.kind == AnomalyKind::retransmission) return group.total;
  Duration cost{};
  for (const AnomalyGroup& other : all)
    if (other.point == group.point && other.kind == AnomalyKind::retransmission &&
        leads_to(group, other.cause))
      cost = sum_of(cost, other.total);
  return cost;
}

}  // namespace

std::string_view name_of(OperatorQuestion question) noexcept {
  constexpr std::string_view kNames[] = {"capture", "setup",      "answers", "validity",
                                         "losses",  "congestion", "rate"};
  return kNames[static_cast<std::size_t>(question)];
}

std::string_view text_of(OperatorQuestion question) noexcept {
  constexpr std::string_view kTexts[] = {
      "Is the capture good enough?", "Did the connections come up?",   "Did every peer answer?",
      "Is what they sent valid?",    "What was lost, late or copied?", "Was it congestion?",
      "What bounds the rate?"};
  return kTexts[static_cast<std::size_t>(question)];
}

std::string_view name_of(Severity severity) noexcept {
  constexpr std::string_view kNames[] = {"fatal", "harm", "note", "capture"};
  return kNames[static_cast<std::size_t>(severity)];
}

bool Facts::follows_connections() const {
  if (evidence.totals.followed() == Followed::nothing) return false;
  return std::ranges::any_of(evidence.analyst.sessions(), [](const analysis::Session& session) {
    return session.directions[0].stream || session.directions[1].stream;
  });
}

std::vector<Statement> Facts::statements_about(OperatorQuestion question,
                                               std::span<const Telling> table) const {
  std::vector<Statement> all;
  for (const AnomalyGroup& group : groups) {
    const auto row = std::ranges::find(table, group.kind, &Telling::kind);
    if (row == table.end()) continue;
    std::string text = row->text(*this, group);
    if (text.empty()) continue;
    const bool only_here = group.cause == Cause::missing_in_capture;
    all.push_back({.severity = only_here ? Severity::capture : row->severity,
                   .topic = std::string(analysis::name_of(group.kind)),
                   .text = at_point(evidence, group.point) + text,
                   .frames = group.frames,
                   .sessions = {group.sessions.begin(), group.sessions.end()},
                   .events = group.events,
                   .packets = group.packets,
                   .cost = cost_of(group, groups),
                   .show = fmt::format("anomalies --kind {}", analysis::name_of(group.kind)),
                   .question = question});
  }
  return all;
}

std::string plain_text(const Facts&, const AnomalyGroup& group) {
  std::string text =
      fmt::format("{}: {}", counted(group.events, "case"), analysis::help_of(group.kind));
  const std::string details = details_of(group);
  return text + (details.empty() ? "." : fmt::format(" ({}).", details));
}

std::string packets_of(const AnomalyGroup& group) {
  const bool response = group.role == wire::Role::response;
  return counted(group.packets, response ? "response packet" : "packet");
}

std::string rounded(Duration time) {
  constexpr std::int64_t kMost = 9'000'000'000'000'000'000;  // damaged stamps; leaves room to round
  const std::int64_t ns = std::clamp(time.count(), -kMost, kMost);
  std::int64_t unit = 1;
  while (std::abs(ns) / unit >= 1000) unit *= 10;
  return format_duration(Duration{(ns + unit / 2) / unit * unit});
}

const FigureTable& Statement::figures() {
  using Row = FigureOf<Statement>;
  static constexpr Figure kRows[] = {
      Row::of<&Statement::severity>("severity", "Severity."),
      Row::of<&Statement::topic>("topic", "Topic."),
      Row::of<&Statement::question>("question", "The question that it answers."),
      Row::of<&Statement::text>("text", "The sentence."),
      Row::of<&Statement::events>("events", "Events counted."),
      Row::of<&Statement::packets>("packets", "Packets concerned."),
      Row::of<&Statement::cost>("cost_ns", "Time that it cost.", Unit::ns),
      Row::of<&Statement::sessions>("connections", "Numbers of the connections.")
          .renamed_from("sessions"),
      Row::of<&Statement::frames>("first_frames", "Numbers of the first frames that show it.")};
  static constexpr FigureTable kTable{"A statement about a capture.", kRows};
  return kTable;
}

}  // namespace lw::dissect
