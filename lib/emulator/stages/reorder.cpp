// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/reorder.h"

#include <fmt/format.h>

#include "emulator/rule_config.h"
#include "emulator/stages/keys.h"
#include "emulator/stats/audit.h"

namespace lw::emulator {
namespace {

/// Returns the share of frames that is held back: every frame draws, except frames that overtake a
/// held one.
double share_held(const ReorderConfig& reorder) noexcept {
  if (!reorder.swap) return reorder.fraction;
  return reorder.fraction / (1 + reorder.fraction * reorder.frames);
}

}  // namespace

bool Reorder::present(const RuleConfig& rule) noexcept { return rule.reorder.has_value(); }

Reorder::Reorder(const RuleConfig& rule, const StageSetup& setup) noexcept
    : config_(*rule.reorder),
      fraction_(rule.reorder->fraction),
      chance_(setup.chance(rule.name, kName)),
      line_(setup.lines.late) {}

void Reorder::read(const StageKeys& rule, Settings& settings) {
  const auto table = rule.table(kName);
  if (!table) return;
  ReorderConfig& reorder = settings.reorder.emplace();
  reorder.fraction =
      table->require("fraction", parse_probability, "a share of the frames, \"1%\"").value_or(0);
  reorder.swap = table->boolean("swap").value_or(false);
  reorder.frames =
      table->integer<std::uint32_t>("frames", 1, ReorderConfig::kMostOvertaking).value_or(0);
  reorder.by = table->get_or("time", read_positive_time, Duration{});
  const int ways = int{reorder.swap} + int{table->has("frames")} + int{table->has("time")};
  if (ways != 1)
    table->refuse("expected one of frames = 3, time = \"10us\" and swap = true, found " +
                  std::to_string(ways));
  if (reorder.swap) reorder.frames = 1;
  reorder.at_most = table->get_or("at_most", read_positive_time, reorder.at_most);
  if (table->has("at_most") && table->has("time"))
    table->refuse("at_most", "expected beside frames or swap, found beside time, which says it");
  table->finish();
}

void Reorder::describe(const RuleConfig& rule, StageTexts& texts) {
  const ReorderConfig& reorder = *rule.reorder;
  std::string text = percent(reorder.fraction) + " of the frames ";
  if (reorder.frames == 0) {
    text += fmt::format("held back by {}", format_duration(reorder.by));
  } else {
    text += reorder.swap ? "change places with the next"
                         : fmt::format("held back until {} more have gone on", reorder.frames);
    text += fmt::format(", at most {}", format_duration(reorder.at_most));
  }
  texts.emplace_back(kName, text);
}

void Reorder::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  if (stats.reorderable > 0)
    checks.push_back(binomial(kNumber, "held back", stats.reorderable, stats.by(kNumber),
                              share_held(*rule.reorder)));
}

void Reorder::add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept {
  ample.total += rule.reorder->frames > 0 ? rule.reorder->at_most : rule.reorder->by;
}

}  // namespace lw::emulator
