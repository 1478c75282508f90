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
      chance_(setup.chance(rule.name, kName)),
      draw_(rule.duplicate->probability, rule.duplicate->correlation, chance_) {}

void Duplicate::inherit(Duplicate& old, const RuleConfig& rule,
                        const RuleConfig& old_rule) noexcept {
  if (rule.duplicate == old_rule.duplicate) draw_ = old.draw_;
}

void Duplicate::read(const StageKeys& rule, Settings& settings) {
  settings.duplicate = read_hit_share<DuplicateConfig>(
      rule, kName, [](const StageKeys& table, DuplicateConfig& duplicate) {
        duplicate.copies = table.integer<std::uint8_t>("copies", 1, kMostCopies).value_or(1);
        duplicate.correlation = table.get_or("correlation", read_correlation, 0.0);
      });
}

void Duplicate::describe(const RuleConfig& rule, StageTexts& texts) {
  const DuplicateConfig& duplicate = *rule.duplicate;
  texts.emplace_back(kName,
                     fmt::format("{} of the frames{}, {} cop{}", percent(duplicate.probability),
                                 correlation_text(duplicate.correlation), duplicate.copies,
                                 duplicate.copies == 1 ? "y" : "ies"));
}

void Duplicate::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  if (stats.duplicable > 0)
    checks.push_back(correlated(kNumber, "duplicated", stats.duplicable, stats.by(kNumber),
                                rule.duplicate->probability, rule.duplicate->correlation));
}

}  // namespace lw::emulator
