// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "dissect/explain/path_verdict.h"
#include "dissect/explain/questions/congestion.h"
#include "dissect/explain/questions/question.h"

namespace lw::dissect {

struct Explanation {
  std::vector<std::string> overview;  // what the capture holds, a line for each capture point
  std::vector<Answer> answers;        // of all questions, in their order
  std::vector<Statement> statements;  // the evidence of the answers, the worst first
  std::string commands = {};          // about the slowest of an upper layer; empty: none is slow
  CongestionVerdict congestion;
  std::optional<PathVerdict> path = {};  // nothing: no path was analysed
  Followed followed = Followed::all;

  /// Whether packets were followed, and no answer is wrong.
  [[nodiscard]] bool nothing_is_wrong() const noexcept;
  /// The questions that this capture does not answer, and why; empty: it answers all.
  [[nodiscard]] std::string unknown() const;
};

/// Explains in words what happened, from the analysis and, if given, the counters of a port.
Explanation explain(const Evidence& evidence, const CounterReport* counters = nullptr);

}  // namespace lw::dissect
