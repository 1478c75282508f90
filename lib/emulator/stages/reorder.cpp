// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/reorder.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/setting.h"
#include "emulator/random/jitter.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"
#include "emulator/stats/loss_audit.h"

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

/// Reads the times for which frames are held back.
void read_times(const StageKeys& table, ReorderConfig& reorder) {
  reorder.times = read_distribution(table);
  if (!reorder.times) return;
  reorder.by = whole_ns(quantile(*reorder.times, 0.999, 0.001));
  if (reorder.by <= Duration{}) table.refuse("distribution", "expected times above 0");
}

/// Checks the mean of the times for which frames were held back; none below 0 may be likely.
void audit_times(const Distribution& times, const RuleStats& stats, std::vector<Check>& checks) {
  const auto n = static_cast<double>(stats.held_for_times);
  if (stats.held_for_times < kFewestDraws || !std::isfinite(deviation_of(times)) ||
      quantile(times, 1e-6, 1 - 1e-6) < 0)
    return;
  const double mean = mean_of(times);
  const double bound = kDeviations * deviation_of(times) / std::sqrt(n) + 1;
  checks.push_back({Reorder::kNumber, "mean time held back", stats.held_for_times, mean,
                    stats.held_ns / n, mean - bound, mean + bound, CheckUnit::nanoseconds, n});
}

}  // namespace

bool Reorder::present(const RuleConfig& rule) noexcept { return rule.reorder.has_value(); }

Reorder::Reorder(const RuleConfig& rule, const StageSetup& setup) noexcept
    : config_(*rule.reorder),
      times_(rule.reorder->times ? std::make_shared<const Sampler>(*rule.reorder->times) : nullptr),
      chance_(setup.chance(rule.name, kName)),
      draw_(rule.reorder->fraction, rule.reorder->correlation, chance_),
      line_(setup.lines.late),
      // As in netem, frames before the first one that is sent ahead count as well.
      spared_(rule.reorder->gap > 0 ? rule.reorder->gap - 1 : 0) {}

/// Holds a frame back for a time of a distribution.
void Reorder::hold_for_time(Passage& p, Stats& stats) const noexcept {
  constexpr std::uint64_t kTimes = 256;  // draws of the times, after those of the copies
  const double drawn = std::max(0.0, (*times_)(chance_.bits(p.number, kTimes + p.copy)));
  p.decision.release += whole_ns(drawn);
  p.decision.line = kWheel;
  ++stats.held_for_times;
  stats.held_ns += drawn;
}

void Reorder::inherit(Reorder& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept {
  if (rule.reorder == old_rule.reorder) draw_ = old.draw_;
}

const FigureTable& ReorderConfig::figures() {
  using Row = FigureOf<ReorderConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&ReorderConfig::fraction>("fraction", "Share of the frames.", Unit::share).from(0, 1),
      Row::of<&ReorderConfig::frames>(
          "frames", "Number of later frames that overtake each, in place of a time.")
          .from(1, ReorderConfig::kMostOvertaking)
          .if_any(),
      Row::of<&ReorderConfig::by>("time", "Time for which they are held back.", Unit::ns)
          .from(1, kLongestTimeNs)
          .if_any(),
      Row::of<&ReorderConfig::swap>("swap", "They change places with the next frame.").set_to(),
      Row::of<&ReorderConfig::gap>(
          "gap", "With `ahead`: least distance between two frames that are sent ahead, in frames.")
          .from(1, ReorderConfig::kMostGap)
          .if_any(),
      Row::of<&ReorderConfig::at_most>("at_most", "Longest wait for frames that overtake.",
                                       Unit::ns)
          .from(1, kLongestTimeNs),
      Row::of<&ReorderConfig::correlation>("correlation", "Correlation of the draws.", Unit::share)
          .from(0, CorrelatedDraw::kMost)};
  static constexpr FigureTable kTable{"Frames that leave later or earlier than others.", kRows};
  return kTable;
}

Figure Reorder::settings() {
  return FigureOf<RuleConfig>::of<&RuleConfig::reorder>(kName,
                                                        "Frames are held back, or sent ahead.");
}

void Reorder::read(const StageKeys& rule, Settings& settings) {
  const auto table = rule.table(kName);
  if (!table) return;
  ReorderConfig& reorder = settings.reorder.emplace();
  table->need("fraction", "a share of the frames, \"1%\"");
  table->settings(reorder);
  const bool drawn = table->has("distribution");
  if (drawn) read_times(*table, reorder);
  const bool ahead = table->boolean("ahead").value_or(false);
  const int ways = int{reorder.swap} + int{ahead} + int{table->has("frames")} +
                   int{table->has("time")} + int{drawn};
  if (ways != 1)
    table->refuse(
        "expected one of frames = 3, time = \"10us\", a distribution of times, swap = true and "
        "ahead = true, found " +
        std::to_string(ways));
  if (reorder.swap) reorder.frames = 1;
  if (table->has("gap") && !ahead) table->refuse("gap", "expected beside ahead = true");
  if (ahead && !table->has("gap")) reorder.gap = 1;
  if (table->has("at_most") && (table->has("time") || ahead || drawn))
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
  } else if (reorder.times) {
    text += "held back by a time, " + emulator::describe(*reorder.times);
  } else if (reorder.frames == 0) {
    text += fmt::format("held back by {}", format_set_duration(reorder.by));
  } else {
    text += reorder.swap ? "change places with the next"
                         : fmt::format("held back until {} more have gone on", reorder.frames);
    text += fmt::format(", at most {}", format_set_duration(reorder.at_most));
  }
  texts.emplace_back(kName, text);
}

void Reorder::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  if (stats.reorderable > 0) checks.push_back(picked(*rule.reorder, stats));
  if (rule.reorder->times) audit_times(*rule.reorder->times, stats, checks);
}

void Reorder::add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept {
  ample.total += rule.reorder->frames > 0 ? rule.reorder->at_most : rule.reorder->by;
}

}  // namespace lw::emulator
