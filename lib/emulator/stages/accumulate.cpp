// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/accumulate.h"

#include <fmt/format.h>

#include "core/setting.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"

namespace lw::emulator {

bool Accumulate::present(const RuleConfig& rule) noexcept { return rule.accumulate.has_value(); }

const FigureTable& AccumulateConfig::figures() {
  using Row = FigureOf<AccumulateConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&AccumulateConfig::frames>("frames", "Frames of a group.")
          .from(2, AccumulateConfig::kMostFrames),
      Row::of<&AccumulateConfig::time>("time", "Longest wait of a group's first frame.", Unit::ns)
          .from(1, kLongestTimeNs)};
  static constexpr FigureTable kTable{"Groups in which frames leave.", kRows};
  return kTable;
}

Figure Accumulate::settings() {
  return FigureOf<RuleConfig>::of<&RuleConfig::accumulate>(kName,
                                                           "Frames are held, and leave together.");
}

void Accumulate::read(const StageKeys& rule, Settings& settings) {
  const auto table = rule.table(kName);
  if (!table) return;
  table->settings(settings.accumulate.emplace());
  if (!table->has("frames") && !table->has("time"))
    table->refuse("expected frames = 32, time = \"5ms\", or both, found none");
  if (rule.has("reorder"))
    table->refuse("expected no reorder beside it: frames that leave together are not reordered");
  table->finish();
}

void Accumulate::describe(const RuleConfig& rule, StageTexts& texts) {
  texts.emplace_back(
      kName, fmt::format("{} frames leave together, or what has come in {}",
                         rule.accumulate->frames, format_set_duration(rule.accumulate->time)));
}

/// Compares the groups that left with the largest size and the longest wait.
void Accumulate::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  const GroupStats& seen = stats.gathered;
  if (seen.groups == 0) return;
  const double frames = rule.accumulate->frames;
  const auto time = static_cast<double>(rule.accumulate->time.count());
  checks.push_back({kNumber, "largest group", seen.frames, frames,
                    static_cast<double>(seen.largest), 1, frames, CheckUnit::frames});
  checks.push_back({kNumber, "longest wait for a group", seen.frames, time,
                    static_cast<double>(seen.longest_ns), 0, time, CheckUnit::nanoseconds});
}

void Accumulate::report(const RuleStats& stats, StageLines& lines) {
  lines.line(stats.gathered.groups,
             fmt::format("groups left together, {} of them full", stats.gathered.full));
}

void Accumulate::add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept {
  ample.total += rule.accumulate->time;
}

}  // namespace lw::emulator
