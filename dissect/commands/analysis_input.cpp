// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/commands/analysis_input.h"

#include <algorithm>

#include "core/output.h"

namespace lw::dissect {

void add_apart_option(app::Options& options, bool& apart) {
  options.add_flag("--apart", apart,
                   "analyse each capture point alone, though several saw the same packets");
}

AnalysisPlan plan_of(const CaptureInput& input, unsigned jobs) {
  const auto is_stream = [](const std::string& file) { return place_of(file).file == "-"; };
  return {.open = [input] { return open_input(input); },
          .points = input.points,
          .apart = input.apart,
          .read_once = input.follow || std::ranges::any_of(input.files, is_stream),
          .jobs = jobs};
}

Result<void> analyse_input(const CaptureInput& input, unsigned jobs, analysis::Analyst& analyst,
                           CollectedResults& results, AnalysedCaptures& captures) {
  return analyse_captures(plan_of(input, jobs), analyst, results, captures,
                          [](const CapturePoints& points) {
                            for (const std::string& sentence : points.sentences())
                              print_report(sentence + "\n", true);
                          });
}

}  // namespace lw::dissect
