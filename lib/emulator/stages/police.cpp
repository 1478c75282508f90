// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/police.h"

#include <fmt/format.h>

#include "core/setting.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"

namespace lw::emulator {
namespace {

/// Returns the time in which a bucket fills up that had too few tokens for a frame, for frames of
/// any length.
Duration time_to_fill(const PoliceConfig& police) noexcept {
  constexpr double kLargestCost = 16'384;
  const double bytes = static_cast<double>(police.burst_bytes) - kLargestCost;
  return Duration{static_cast<Duration::rep>(std::max(0.0, bytes * 8e9 / police.rate_bps))};
}

}  // namespace

bool Police::present(const RuleConfig& rule) noexcept { return rule.police.has_value(); }

Police::Police(const RuleConfig& rule, const StageSetup& /*setup*/) noexcept
    : policer_(*rule.police), overhead_(rule.police->overhead), soon_(time_to_fill(*rule.police)) {}

void Police::inherit(Police& old, const RuleConfig& rule, const RuleConfig& old_rule,
                     Instant now) noexcept {
  if (rule.police == old_rule.police) return std::swap(*this, old);
  policer_.take_over(old.policer_, now);
}

const FigureTable& PoliceConfig::figures() {
  using Row = FigureOf<PoliceConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&PoliceConfig::rate_bps>("rate", "Rate of the tokens.", Unit::bits_per_second)
          .from(kSlowestRate, kHighestRate),
      Row::of<&PoliceConfig::burst_bytes>("burst", "Size of the bucket.", Unit::bytes)
          .from(1, kLargestBuffer),
      Row::of<&PoliceConfig::overhead>("overhead", "What a frame costs besides its bytes.",
                                       Unit::bytes)
          .from(0, kMostOverhead)};
  static constexpr FigureTable kTable{"Token bucket.", kRows};
  return kTable;
}

Figure Police::settings() {
  return FigureOf<RuleConfig>::of<&RuleConfig::police>(kName, "Frames above a rate are dropped.");
}

void Police::read(const StageKeys& rule, Settings& settings) {
  const auto table = rule.table(kName);
  if (!table) return;
  table->need("rate", "a rate, \"10Gb/s\"");
  table->need("burst", "what may come at once, \"1MB\"");
  PoliceConfig police{.rate_bps = kSlowestRate, .burst_bytes = 1};
  table->settings(police);
  const std::uint64_t cheapest = on_the_line(0, police.overhead);
  if (table->has("burst") && police.burst_bytes < cheapest)
    table->refuse("burst", fmt::format("expected at least the {} B that the smallest frame costs, "
                                       "or none ever passes; found {} B",
                                       cheapest, police.burst_bytes));
  table->finish();
  settings.police = police;
}

void Police::describe(const RuleConfig& rule, StageTexts& texts) {
  const PoliceConfig& police = *rule.police;
  texts.emplace_back(kName, fmt::format("{}, bursts of {}, {} B a frame beside its own",
                                        format_bit_rate(police.rate_bps),
                                        amount(police.burst_bytes), police.overhead));
}

void Police::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  const PoliceStats& seen = stats.police;
  if (seen.passing_ns == 0) return;
  const auto time = static_cast<double>(seen.passing_ns);
  const double rate_bps = rule.police->rate_bps;
  const double slack = static_cast<double>(seen.intervals * seen.largest_cost) * 8e9 / time;
  checks.push_back({kNumber, "policed rate", seen.frames, rate_bps,
                    static_cast<double>(seen.passed_bytes) * 8e9 / time, rate_bps - slack,
                    rate_bps + slack, CheckUnit::bits_per_second});
}

void Police::report(const RuleStats& stats, StageLines& lines) {
  lines.line(stats.by(kNumber), "dropped by the policer");
}

}  // namespace lw::emulator
