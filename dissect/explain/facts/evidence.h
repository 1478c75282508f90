// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "dissect/sessions/path_analysis.h"

namespace lw::dissect {

/// Messages by session, direction and operation.
struct MessageCount {
  std::uint64_t messages = 0, bytes = 0;
  std::uint64_t incomplete = 0;  // of UC and UD: packets are missing, so their receiver drops them

  void add(const analysis::Message& message);
};
using MessageCounts =
    std::map<std::tuple<std::uint32_t, std::uint8_t, wire::Operation>, MessageCount>;

/// Results of the analysis of a capture. `anomalies` are in the order of their frames.
struct Evidence {
  const analysis::Analyst& analyst;
  const CapturePoints& points;
  std::span<const analysis::Anomaly> anomalies;
  const CaptureTotals& totals;
  const MessageCounts& messages;
  const JoinedPath* joined = nullptr;    // null: no path was analysed
  std::optional<double> link_rate = {};  // b/s, of the slowest link of the way, as the user says
  TimeStyle time = TimeStyle::relative;  // of the moments in sentences
};

/// The flow of a session's first direction, or of the other one if that was not captured.
const analysis::QpFlow& any_flow(const analysis::Analyst& analyst,
                                 const analysis::Session& session);
/// Returns the capture point of a session.
std::uint32_t point_of(const analysis::Analyst& analyst, const analysis::Session& session);
/// The session of an anomaly that belongs to one.
const analysis::Session& session_of(const Evidence& evidence, const analysis::Anomaly& anomaly);

/// Anomalies of one kind, cause, certainty, role and place at one capture point.
struct AnomalyGroup {
  static constexpr std::size_t kMostFrames = 5;
  std::uint32_t point = 0;
  analysis::AnomalyKind kind{};
  analysis::Cause cause{};
  analysis::Certainty certainty{};
  analysis::Hypotheses alternatives = {};  // of the first
  wire::Role role{};
  std::string where = {};  // as of Anomaly
  std::uint64_t events = 0, packets = 0;
  Duration total{}, longest{};
  std::vector<std::uint64_t> frames;  // the first kMostFrames
  std::set<std::uint32_t> sessions;
  std::map<std::string, std::uint64_t> details;  // and how often each occurs

  [[nodiscard]] bool is_certain() const noexcept {
    return certainty == analysis::Certainty::certain;
  }
  [[nodiscard]] bool is(analysis::AnomalyKind a, analysis::Cause b) const noexcept {
    return kind == a && cause == b && is_certain();
  }
};

/// All anomalies in groups.
std::vector<AnomalyGroup> groups_of(const Evidence& evidence);
/// The most frequent details: "FETCH ADD (3 times), ...".
std::string details_of(const AnomalyGroup& group);
/// "At eth0: ", the beginning of a sentence; empty for a capture of one point.
std::string at_point(const Evidence& evidence, std::uint32_t point);
/// Sum of times >= 0. Stamps are any numbers, so the sum may be too large: then the longest time.
Duration sum_of(Duration a, Duration b) noexcept;

}  // namespace lw::dissect
