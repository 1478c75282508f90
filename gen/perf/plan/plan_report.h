// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/figure.h"
#include "core/question.h"
#include "gen/perf/plan/plan.h"

namespace lw::gen {

/// What `plan` prints as JSON.
struct PlanReport {
  const perf::PerfConfig& config;
  const Plan& plan;

  static const FigureTable& figures();
};
inline constexpr JsonOutput kPlanOutput{.name = "plan",
                                        .title = "roce-gen plan --json",
                                        .figures = &PlanReport::figures,
                                        .judged = true,
                                        .version = 3};

/// Adds whether every figure is known, and whether QPs break.
void observe_plan(Judge& judge, const Plan& plan);
std::string plan_text(const perf::PerfConfig& config, const Plan& plan);

}  // namespace lw::gen
