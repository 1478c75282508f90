// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/expectation.h"
#include "core/figure.h"
#include "core/verdict.h"
#include "report/json_line.h"
#include "report/prometheus.h"

/// The outputs of a verdict, but JUnit's (report/junit.h) and that of live views.
namespace lw::report {

/// Judges an expectation by the figures that its path stands for (figure_paths.h). Without one, the
/// answer is unknown, with the exit code usage, and its reason names figures whose names are near.
/// A value with a unit needs a figure of that kind: the table of `output` says it, or, without one,
/// the figure's name (_ns, _usec, _bps, _gbps, bytes, seconds, percent).
std::vector<Judgement> judge_figures(const Expectation& expectation, const Json& report,
                                     const JsonOutput* output = nullptr);

/// The first lines of a text report: the statements that are not green, the worst first, and those
/// that somebody asked for and that hold; at most 20 of each.
std::string text_of(const Verdict& verdict);

/// Puts "verdict" at the end of a line of JSON, an object.
void add_verdict(std::string& line, const Verdict& verdict);

/// Adds a gauge for each statement: 0 it holds, 1 with a remark or unknown, 2 not. Its
/// name is `prefix`, which ends in an underscore, and "verdict".
void add_verdict(Prometheus& out, std::string_view prefix, const Verdict& verdict);

}  // namespace lw::report
