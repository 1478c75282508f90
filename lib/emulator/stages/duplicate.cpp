// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/duplicate.h"

#include <fmt/format.h>

#include "core/setting.h"
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

const FigureTable& DuplicateConfig::figures() {
  using Row = FigureOf<DuplicateConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&DuplicateConfig::probability>("probability", "Share of the frames.", Unit::share)
          .from(0, 1),
      Row::of<&DuplicateConfig::copies>("copies", "Copies of each.")
          .from(1, Duplicate::kMostCopies),
      Row::of<&DuplicateConfig::correlation>("correlation", "Correlation of the draws.",
                                             Unit::share)
          .from(0, CorrelatedDraw::kMost)};
  static constexpr FigureTable kTable{"Frames that are sent more than once.", kRows};
  return kTable;
}

Figure Duplicate::settings() {
  return FigureOf<RuleConfig>::of<&RuleConfig::duplicate>(kName, "Frames are sent more than once.");
}

void Duplicate::read(const StageKeys& rule, Settings& settings) {
  settings.duplicate = read_hit_share<DuplicateConfig>(rule, kName);
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
