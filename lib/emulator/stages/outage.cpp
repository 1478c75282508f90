// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/outage.h"

#include "emulator/rule_config.h"
#include "emulator/stats/rule_stats.h"

namespace lw::emulator {

bool Outage::present(const RuleConfig& rule) noexcept { return rule.outage; }

void Outage::describe(const RuleConfig& /*rule*/, StageTexts& texts) {
  texts.emplace_back("outage", "the path is out: every frame is lost");
}

void Outage::report(const RuleStats& stats, StageLines& lines) {
  lines.line(stats.by(kNumber), "lost while the path was out");
}

}  // namespace lw::emulator
