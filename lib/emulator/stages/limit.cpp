// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/limit.h"

#include <fmt/format.h>

#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"

namespace lw::emulator {

bool Limit::present(const RuleConfig& rule) noexcept { return rule.limit.has_value(); }

Limit::Limit(const RuleConfig& rule, const StageSetup& /*setup*/) noexcept : frames_(*rule.limit) {}

void Limit::read(const StageKeys& rule, Settings& settings) {
  settings.limit = rule.integer<std::uint32_t>(kName, 1, kMostFrames);
}

void Limit::describe(const RuleConfig& rule, StageTexts& texts) {
  texts.emplace_back(
      kName, fmt::format("{} frames inside at most, waiting and delayed ones too", *rule.limit));
}

/// Compares the most frames inside, as the link counts them in and out, with the limit.
void Limit::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  if (stats.limited == 0) return;
  const double most = *rule.limit;
  checks.push_back({kNumber, "most frames inside", stats.limited, most,
                    static_cast<double>(stats.most_inside), 0, most, CheckUnit::frames});
}

}  // namespace lw::emulator
