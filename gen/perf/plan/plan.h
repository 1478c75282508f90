// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/figure.h"
#include "core/question.h"
#include "perf/config.h"

namespace lw::gen {

/// The limit of a transfer.
enum class PlanLimit : std::uint8_t {
  line,
  receiver,
  tx_depth,
  outstanding_wqes,
  reads,
  psn_window,
  none  // every QP breaks
};

std::string_view name_of(PlanLimit limit) noexcept;  // "tx depth"

/// The requirements of a path on its endpoints, computed without a simulation.
/// docs/reference/roce-gen-plan.md states the formulas.
struct Plan {
  Duration round_trip{};           // NICs included
  double bdp_bytes = 0;            // round trip x link rate
  double goodput_bps = 0;          // payload that the link carries in messages of this size
  std::uint64_t needed = 0;        // outstanding messages that fill the link
  std::uint64_t configured = 0;    // messages that may be outstanding, all QPs together
  std::uint64_t qps_needed = 0;    // number of QPs with the configured window of a QP
  double lossless_bps = 0;         // of this configuration without losses
  double throughput_bps = 0;       // with the losses of config.path.loss; not with `unknown`
  PlanLimit limit{};               // without losses
  double window_packets = 0;       // sent in a round trip at lossless_bps
  double loss_for_90_percent = 0;  // the loss that costs a tenth of lossless_bps
  std::string_view unknown;        // why no formula holds: simulate; empty: one does
  std::string_view breaks;         // why every QP breaks, at 0 b/s; empty: none does
};

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
                                        .version = 2};

/// Adds whether a formula holds, and whether the QPs break.
void observe_plan(Judge& judge, const Plan& plan);

/// Computes a plan. Assumes that losses are independent, and equally likely in both directions.
Plan plan(const perf::PerfConfig& config);
/// `command`: the simulation with the same options.
std::string plan_text(const perf::PerfConfig& config, const Plan& plan, const std::string& command);

}  // namespace lw::gen
