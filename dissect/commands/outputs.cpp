// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/commands/outputs.h"

#include "dissect/commands/questions.h"
#include "dissect/compare/compare_figures.h"
#include "dissect/compare/expectation.h"
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

std::span<const CommandQuestions> questions() {
  static const CommandQuestions kCommands[] = {{"verify", kVerifyQuestions},
                                               {"summary", kReadingQuestions},
                                               {"compare", compare_questions()},
                                               {"list", kReadingQuestions, false},
                                               {"connections", kReadingQuestions, false},
                                               {"messages", kReadingQuestions, false},
                                               {"anomalies", kReadingQuestions, false},
                                               {"explain", kReadingQuestions, false},
                                               {"annotate", kReadingQuestions, false},
                                               {"extract", kReadingQuestions, false},
                                               {"report", kReadingQuestions, false},
                                               {"fields"}};
  return kCommands;
}

}  // namespace lw::dissect
