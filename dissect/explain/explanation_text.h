// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include "dissect/explain/counters/counter_report.h"
#include "dissect/explain/explanation.h"

namespace lw::dissect {

/// The command that lists the evidence of a statement, from its `show`.
using CommandLine = std::function<std::string(const std::string& show)>;

/// An explanation as text: what the capture holds, the questions with their answers, the
/// statements, and the questions that it does not answer.
std::string explanation_text(const Explanation& explanation, const CommandLine& command_line);
/// The counters of a port as text.
std::string counters_text(const CounterReport& report);

}  // namespace lw::dissect
