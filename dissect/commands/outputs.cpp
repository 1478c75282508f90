// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/commands/outputs.h"

#include "dissect/compare/compare_figures.h"
#include "dissect/extract/row_figures.h"
#include "dissect/list/list_format.h"
#include "dissect/sessions/result_figures.h"
#include "dissect/summary/summary_figures.h"
#include "dissect/verify/verdicts.h"

namespace lw::dissect {

std::span<const JsonOutput> outputs() {
  static constexpr JsonOutput kOutputs[] = {kFrameOutput,       kSessionOutput,
                                            kMessageOutput,     kGroupOutput,
                                            kAnomalyOutput,     kFileOutput,
                                            kRangeOutput,       kGapOutput,
                                            kUnplacedOutput,    kExtractedMessageOutput,
                                            kVerdictOutput,     kComparisonOutput,
                                            kExplanationOutput, kFieldOutput,
                                            kSummaryOutput};
  return kOutputs;
}

}  // namespace lw::dissect
