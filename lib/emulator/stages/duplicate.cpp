// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/duplicate.h"

#include <fmt/format.h>

#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"

namespace lw::emulator {

bool Duplicate::present(const RuleConfig& rule) noexcept { return rule.duplicate.has_value(); }

Duplicate::Duplicate(const RuleConfig& rule, const StageSetup& setup) noexcept
    : copies_(rule.duplicate->copies),
      probability_(rule.duplicate->probability),
      chance_(setup.chance(rule.name, kName)) {}

void Duplicate::read(const StageKeys& rule, Settings& settings) {
  settings.duplicate = read_hit_share<DuplicateConfig>(
      rule, kName, [](const StageKeys& table, DuplicateConfig& duplicate) {
        duplicate.copies = table.integer<std::uint8_t>("copies", 1, kMostCopies).value_or(1);
      });
}

void Duplicate::describe(const RuleConfig& rule, StageTexts& texts) {
  const DuplicateConfig& duplicate = *rule.duplicate;
  texts.emplace_back(kName,
                     fmt::format("{} of the frames, {} cop{}", percent(duplicate.probability),
                                 duplicate.copies, duplicate.copies == 1 ? "y" : "ies"));
}

void Duplicate::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  if (stats.duplicable > 0)
    checks.push_back(binomial(kNumber, "duplicated", stats.duplicable, stats.by(kNumber),
                              rule.duplicate->probability));
}

}  // namespace lw::emulator
