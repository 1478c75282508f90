// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/police.h"

#include <fmt/format.h>

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

void Police::read(const StageKeys& rule, Settings& settings) {
  const auto table = rule.table(kName);
  if (!table) return;
  PoliceConfig police;
  police.rate_bps = table->require("rate", read_rate, "a rate, \"10Gb/s\"").value_or(kSlowestRate);
  police.burst_bytes =
      table->require("burst", read_buffer, "what may come at once, \"1MB\"").value_or(1);
  police.overhead = table->get_or("overhead", read_overhead, police.overhead);
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
