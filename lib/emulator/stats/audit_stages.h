// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "emulator/stats/audit.h"

// What audit() has to say of the stages that need a file of their own.
namespace lw::emulator {

// A mean of fewer draws isn't normal yet where the distribution is skewed.
inline constexpr std::uint64_t kFewestDraws = 1000;

/// By the rule's own model.
void audit_loss(const LossConfig& config, const RuleStats& stats, std::vector<Check>& checks);
/// By the trace's rows.
void audit_traced_loss(const TraceConfig& trace, const RuleStats& stats,
                       std::vector<Check>& checks);
void audit_jitter(const JitterConfig& jitter, const RuleStats& stats, std::vector<Check>& checks);

}  // namespace lw::emulator
