// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "dissect/explain/congestion.h"

namespace lw::dissect {

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

  static const FigureTable& figures();
};

struct Explanation {
  std::vector<std::string> overview;  // what the capture holds, a line for each capture point
  std::vector<Statement> statements;  // the worst first
  CongestionVerdict congestion;
  Followed followed = Followed::all;

  /// Whether packets were followed, and no statement is fatal or harmful.
  [[nodiscard]] bool nothing_is_wrong() const noexcept;
};

/// Explains in words what happened, from the analysis alone.
Explanation explain(const Evidence& evidence);

}  // namespace lw::dissect
