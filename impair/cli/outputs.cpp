// SPDX-License-Identifier: BSD-3-Clause
#include "impair/cli/outputs.h"

#include "impair/cli/commands.h"
#include "impair/cli/profile_check.h"
#include "impair/control/answer.h"
#include "impair/report/explanation.h"
#include "impair/report/report.h"
#include "impair/report/run_verdict.h"

namespace lw::impair {

std::span<const JsonOutput> outputs() {
  static constexpr JsonOutput kOutputs[] = {kRunOutput, kControlOutput, kCheckOutput,
                                            kExplanationOutput, kDryRunOutput};
  return kOutputs;
}

std::span<const CommandQuestions> questions() {
  static constexpr CommandQuestions kCommands[] = {{"run", kImpairQuestions},
                                                   {"replay", kReplayQuestions},
                                                   {"check"},
                                                   {"ctl"},
                                                   {"explain"},
                                                   {"from-tc"},
                                                   {"ledger"},
                                                   {"profiles"}};
  return kCommands;
}

}  // namespace lw::impair
