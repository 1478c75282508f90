// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/outputs.h"

#include "app/profiles_command.h"
#include "config/flow/questions.h"
#include "gen/experiment/result_files.h"
#include "gen/network/network_report.h"
#include "gen/perf/plan/plan_report.h"
#include "gen/perf/report/buffer_need.h"
#include "gen/perf/report/perf_ranks.h"
#include "gen/perf/report/perf_report.h"
#include "gen/questions.h"
#include "gen/replay/replay.h"
#include "gen/report/flow_report.h"
#include "gen/report/live_page.h"
#include "gen/report/preview.h"
#include "gen/report/ranks_report.h"
#include "gen/report/run_report.h"
#include "gen/search/rate_search.h"

namespace lw::gen {

std::span<const JsonOutput> outputs() {
  static const JsonOutput kOutputs[] = {kBufferNeedOutput,
                                        experiment::kExperimentOutput,
                                        kFindingOutput,
                                        kFlowCheckOutput,
                                        kLiveOutput,
                                        kNetworkOutput,
                                        kOpcodeOutput,
                                        kOtgFieldsOutput,
                                        output_of(perf::PerfPattern::bw),
                                        output_of(perf::PerfPattern::lat),
                                        output_of(perf::PerfPattern::blast),
                                        kPerfRanksOutput,
                                        kPlanOutput,
                                        app::kProfileOutput,
                                        kRankOutput,
                                        kRanksOutput,
                                        kReceiveOutput,
                                        kReplayOutput,
                                        kRespondOutput,
                                        kSearchOutput,
                                        kSendOutput,
                                        kSendDeviceOutput,
                                        kTelemetryOutput};
  return kOutputs;
}

std::span<const CommandQuestions> questions() {
  static constexpr CommandQuestions kCommands[] = {{"run", config::kRunQuestions},
                                                   {"receive", config::kReceiveQuestions},
                                                   {"replay", kReplayQuestions},
                                                   {"search", kSearchQuestions},
                                                   {"perf", kPerfQuestions},
                                                   {"sim", kPerfQuestions},
                                                   {"respond", kRespondQuestions},
                                                   {"otg"},
                                                   {"telemetry", kTelemetryQuestions},
                                                   {"plan", kPlanQuestions},
                                                   {"experiment", kExperimentQuestions},
                                                   {"check"},
                                                   {"profiles"},
                                                   {"opcodes"},
                                                   {"doctor"}};
  return kCommands;
}

}  // namespace lw::gen
