// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "dissect/sessions/capture_analysis.h"

namespace lw::dissect {

/// Messages by session, direction and operation.
struct MessageCount {
  std::uint64_t messages = 0, bytes = 0;
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
};

/// Severity of a statement; the worst first.
enum class Severity : std::uint8_t {
  fatal,    // a connection has ended, or got no answer
  harm,     // packets were lost, late, refused, damaged or sent again
  note,     // of interest, but no error
  capture,  // about the capture, not about the traffic
};
std::string_view name_of(Severity severity) noexcept;  // "fatal"

/// A statement about the capture, in words, and its evidence.
struct Statement {
  Severity severity{};
  std::string topic;                       // "psn_gap": the kind of the anomalies, or "cut_frames"
  std::string text;                        // sentences
  std::vector<std::uint64_t> frames = {};  // the first frames that show it
  std::vector<std::uint32_t> sessions = {};  // in which it happened
  std::uint64_t events = 0, packets = 0;
  Duration cost{};        // time of the recoveries that it caused
  std::string show = {};  // the command that lists it: "anomalies --kind psn_gap"
};

/// "Was it congestion?"
struct CongestionVerdict {
  enum class Answer : std::uint8_t { yes, no, cannot_tell };
  Answer answer{};
  std::string reason;  // a sentence
  std::uint64_t marked = 0, notifications = 0, lost = 0, resent = 0, pauses = 0;
};
std::string_view name_of(CongestionVerdict::Answer answer) noexcept;  // "cannot tell"

struct Explanation {
  std::vector<std::string> overview;  // what the capture holds, a line for each capture point
  std::vector<Statement> statements;  // the worst first
  CongestionVerdict congestion;

  /// Whether no statement is fatal or harmful.
  [[nodiscard]] bool nothing_is_wrong() const noexcept;
};

/// Explains in words what happened, from the analysis alone.
Explanation explain(const Evidence& evidence);

/// Returns the capture point of a session.
std::uint32_t point_of(const analysis::Analyst& analyst, const analysis::Session& session);

}  // namespace lw::dissect
