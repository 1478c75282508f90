// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/facts/evidence.h"

#include <algorithm>

#include <fmt/format.h>

namespace lw::dissect {

using analysis::Anomaly;
using analysis::AnomalyKind;
using analysis::Cause;
using analysis::Session;

namespace {

/// The detail without the message number, which differs from NAK to NAK.
std::string common_detail(const Anomaly& anomaly) {
  const std::size_t number = anomaly.detail.find(" msn ");
  if (number == std::string::npos) return anomaly.detail;
  const std::size_t end = anomaly.detail.find_first_of(": ", number + 5);
  return anomaly.detail.substr(0, number) +
         (end == std::string::npos ? "" : anomaly.detail.substr(end));
}

void add(AnomalyGroup& group, const Anomaly& anomaly) {
  ++group.events;
  group.packets += anomaly.packets;
  group.total = sum_of(group.total, std::max(anomaly.duration, Duration{}));
  group.longest = std::max(group.longest, anomaly.duration);
  if (group.frames.size() < AnomalyGroup::kMostFrames) group.frames.push_back(anomaly.frame);
  if (anomaly.session != 0) group.sessions.insert(anomaly.session);
  constexpr std::size_t kMostKept = 100;
  if (!anomaly.detail.empty() && group.details.size() < kMostKept)
    ++group.details[common_detail(anomaly)];
}

}  // namespace

void MessageCount::add(const analysis::Message& message) {
  ++messages;
  bytes += message.bytes;
  const bool repeats =
      message.transport != wire::Transport::uc && message.transport != wire::Transport::ud;
  incomplete += !repeats && message.partial;
}

const analysis::QpFlow& any_flow(const analysis::Analyst& analyst, const Session& session) {
  const auto& [one, other] = session.directions;
  return analyst.flows()[one.flow != analysis::QpFlow::kNone ? one.flow : other.flow];
}

const Session& session_of(const Evidence& evidence, const Anomaly& anomaly) {
  return evidence.analyst.sessions()[anomaly.session - 1];
}

std::uint32_t point_of(const analysis::Analyst& analyst, const Session& session) {
  return any_flow(analyst, session).key.point;
}

std::string at_point(const Evidence& evidence, std::uint32_t point) {
  if (evidence.points.points().size() < 2 || evidence.points.is_joined(point)) return {};
  const std::string& name = evidence.points.name(point);
  return name.empty() ? "Unnamed interface: " : fmt::format("At {}: ", name);
}

Duration sum_of(Duration a, Duration b) noexcept {
  return a > Duration::max() - b ? Duration::max() : a + b;
}

std::vector<AnomalyGroup> groups_of(const Evidence& evidence) {
  using Certainty = analysis::Certainty;
  using Key = std::tuple<std::uint32_t, AnomalyKind, Cause, Certainty, wire::Role,
                         analysis::Hypotheses, std::string>;
  std::map<Key, AnomalyGroup> groups;
  for (const Anomaly& anomaly : evidence.anomalies) {
    const bool of_session = anomaly.session != 0;
    const std::uint32_t point =
        of_session ? point_of(evidence.analyst, session_of(evidence, anomaly)) : 0;
    AnomalyGroup& group = groups[{point, anomaly.kind, anomaly.cause, anomaly.certainty,
                                  anomaly.role, anomaly.alternatives, anomaly.where}];
    group.point = point;
    group.kind = anomaly.kind;
    group.cause = anomaly.cause;
    group.certainty = anomaly.certainty;
    group.alternatives = anomaly.alternatives;
    group.role = anomaly.role;
    group.where = anomaly.where;
    add(group, anomaly);
  }
  std::vector<AnomalyGroup> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  return all;
}

std::string details_of(const AnomalyGroup& group) {
  constexpr std::size_t kMostDetails = 3;
  std::vector<std::pair<std::uint64_t, std::string>> sorted;
  for (const auto& [text, count] : group.details) sorted.emplace_back(count, text);
  std::ranges::sort(sorted, std::greater<>{});
  std::string all;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostDetails); ++i)
    all += fmt::format("{}{}{}", i == 0 ? "" : "; ", sorted[i].second,
                       sorted[i].first > 1 ? fmt::format(" ({} times)", sorted[i].first) : "");
  if (sorted.size() > kMostDetails)
    all += fmt::format("; and {} others", sorted.size() - kMostDetails);
  return all;
}

}  // namespace lw::dissect
