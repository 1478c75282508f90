// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/figure.h"
#include "dissect/explain/facts/evidence.h"

namespace lw::dissect {

/// A question of an operator, in the order in which they are asked.
enum class OperatorQuestion : std::uint8_t {
  capture,     // is the capture good enough?
  setup,       // did the connections come up?
  answers,     // did every peer answer?
  validity,    // is what they sent valid?
  losses,      // what was lost, late or copied, and where?
  congestion,  // was it congestion?
  rate,        // what bounds the rate?
};
std::string_view name_of(OperatorQuestion question) noexcept;  // "capture"
std::string_view text_of(OperatorQuestion question) noexcept;  // "Is the capture good enough?"

/// Severity of a statement; the worst first.
enum class Severity : std::uint8_t {
  fatal,    // a connection has ended, did not come up, or got no answer
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
  Duration cost{};              // time of the recoveries that it caused
  std::string show = {};        // the command that lists it: "anomalies --kind psn_gap"
  OperatorQuestion question{};  // that it answers

  [[nodiscard]] bool is_harmful() const noexcept {
    return severity == Severity::fatal || severity == Severity::harm;
  }
  static const FigureTable& figures();
};

/// How the groups of a kind are described: the severity, and the text of one of them, which is a
/// function of what is known. An empty text: another statement covers it.
struct Telling {
  analysis::AnomalyKind kind{};
  Severity severity = Severity::harm;
  std::string (*text)(const struct Facts& facts, const AnomalyGroup& group) = nullptr;
};

/// What questions are functions of.
struct Facts {
  const Evidence& evidence;
  const std::vector<AnomalyGroup>& groups;
  const struct CounterReport* counters = nullptr;  // of a port, if given

  /// Whether packets of a connection were followed.
  [[nodiscard]] bool follows_connections() const;
  /// Statements about the groups that the table tells of, for a question.
  [[nodiscard]] std::vector<Statement> statements_about(OperatorQuestion question,
                                                        std::span<const Telling> table) const;
  /// Packets, or events, of the groups for which holds(group) is true.
  template <class Holds>
  [[nodiscard]] std::uint64_t packets_of(Holds holds) const {
    std::uint64_t packets = 0;
    for (const AnomalyGroup& group : groups) packets += holds(group) ? group.packets : 0;
    return packets;
  }
  template <class Holds>
  [[nodiscard]] std::uint64_t events_of(Holds holds) const {
    std::uint64_t events = 0;
    for (const AnomalyGroup& group : groups) events += holds(group) ? group.events : 0;
    return events;
  }
};

/// Text of groups that need only the help of their kind and their details.
std::string plain_text(const Facts& facts, const AnomalyGroup& group);
/// "3 packets", "3 response packets".
std::string packets_of(const AnomalyGroup& group);
/// A time with three significant digits: "67.1 ms".
std::string rounded(Duration time);

}  // namespace lw::dissect
