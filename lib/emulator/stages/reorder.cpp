// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/reorder.h"

#include <fmt/format.h>

#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"

namespace lw::emulator {
namespace {

/// Checks the share of frames that were picked: every frame draws, except the spared ones, which
/// make the number of picked ones vary less than draws of each frame would.
Check picked(const ReorderConfig& reorder, const RuleStats& stats) {
  const auto share_of = [&](double drawn) { return drawn / (1 + drawn * reorder.spared()); };
  const std::string_view what = reorder.gap > 0 ? "sent ahead" : "held back";
  if (reorder.correlation == 0)
    return binomial(Reorder::kNumber, what, stats.reorderable, stats.by(Reorder::kNumber),
                    share_of(reorder.fraction));
  Check check = correlated(Reorder::kNumber, what, stats.reorderable, stats.by(Reorder::kNumber),
                           reorder.fraction, reorder.correlation);
  check.asked = share_of(check.asked);
  check.low = share_of(check.low);
  check.high = share_of(check.high);
  return check;
}

}  // namespace

bool Reorder::present(const RuleConfig& rule) noexcept { return rule.reorder.has_value(); }

Reorder::Reorder(const RuleConfig& rule, const StageSetup& setup) noexcept
    : config_(*rule.reorder),
      chance_(setup.chance(rule.name, kName)),
      draw_(rule.reorder->fraction, rule.reorder->correlation, chance_),
      line_(setup.lines.late),
      // As in netem, frames before the first one that is sent ahead count as well.
      spared_(rule.reorder->gap > 0 ? rule.reorder->gap - 1 : 0) {}

void Reorder::inherit(Reorder& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept {
  if (rule.reorder == old_rule.reorder) draw_ = old.draw_;
}

void Reorder::read(const StageKeys& rule, Settings& settings) {
  const auto table = rule.table(kName);
  if (!table) return;
  ReorderConfig& reorder = settings.reorder.emplace();
  reorder.fraction =
      table->require("fraction", parse_probability, "a share of the frames, \"1%\"").value_or(0);
  reorder.correlation = table->get_or("correlation", read_correlation, 0.0);
  reorder.swap = table->boolean("swap").value_or(false);
  reorder.frames =
      table->integer<std::uint32_t>("frames", 1, ReorderConfig::kMostOvertaking).value_or(0);
  reorder.by = table->get_or("time", read_positive_time, Duration{});
  const bool ahead = table->boolean("ahead").value_or(false);
  const int ways =
      int{reorder.swap} + int{ahead} + int{table->has("frames")} + int{table->has("time")};
  if (ways != 1)
    table->refuse(
        "expected one of frames = 3, time = \"10us\", swap = true and ahead = true, found " +
        std::to_string(ways));
  if (reorder.swap) reorder.frames = 1;
  const auto gap = table->integer<std::uint32_t>("gap", 1, ReorderConfig::kMostGap);
  if (gap && !ahead) table->refuse("gap", "expected beside ahead = true");
  if (ahead) reorder.gap = gap.value_or(1);
  reorder.at_most = table->get_or("at_most", read_positive_time, reorder.at_most);
  if (table->has("at_most") && (table->has("time") || ahead))
    table->refuse("at_most", "expected beside frames or swap");
  table->finish();
}

void Reorder::describe(const RuleConfig& rule, StageTexts& texts) {
  const ReorderConfig& reorder = *rule.reorder;
  std::string text = fmt::format("{} of the frames{} ", percent(reorder.fraction),
                                 correlation_text(reorder.correlation));
  if (reorder.gap > 0) {
    text += "sent ahead, without the delay";
    if (reorder.gap > 1) text += fmt::format(", at least {} frames apart", reorder.gap);
  } else if (reorder.frames == 0) {
    text += fmt::format("held back by {}", format_duration(reorder.by));
  } else {
    text += reorder.swap ? "change places with the next"
                         : fmt::format("held back until {} more have gone on", reorder.frames);
    text += fmt::format(", at most {}", format_duration(reorder.at_most));
  }
  texts.emplace_back(kName, text);
}

void Reorder::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  if (stats.reorderable > 0) checks.push_back(picked(*rule.reorder, stats));
}

void Reorder::add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept {
  ample.total += rule.reorder->frames > 0 ? rule.reorder->at_most : rule.reorder->by;
}

}  // namespace lw::emulator
