// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stats/audit.h"

#include <algorithm>

#include "emulator/stats/audit_checks.h"
#include "emulator/stats/audit_stages.h"

namespace lw::emulator {
namespace {

void audit_police(const PoliceConfig& police, const PoliceStats& seen, std::vector<Check>& checks) {
  if (seen.passing_ns == 0) return;
  const auto time = static_cast<double>(seen.passing_ns);
  const double slack = static_cast<double>(seen.stretches * seen.largest_cost) * 8e9 / time;
  checks.push_back({Stage::police, "policed rate", seen.frames, police.rate_bps,
                    static_cast<double>(seen.passed_bytes) * 8e9 / time, police.rate_bps - slack,
                    police.rate_bps + slack, Figure::bits_per_second});
}

/// By chance, by the queue, or by both: the sums over all frames of what each would have marked.
Check audit_mark(const MarkConfig& mark, const RuleStats& stats) {
  const auto between = static_cast<double>(stats.red.between);
  const auto above = static_cast<double>(stats.red.above);
  const double others = static_cast<double>(stats.markable) - between - above;
  double by_queue = 0;  // of those between the thresholds, on average
  if (mark.red && between > 0) {
    const double fill = static_cast<double>(stats.red.bytes_between) / between -
                        static_cast<double>(mark.red->kmin_bytes);
    by_queue =
        mark.red->pmax * fill / static_cast<double>(mark.red->kmax_bytes - mark.red->kmin_bytes);
  }
  const double chance = mark.probability, both = chance + (1 - chance) * by_queue;
  // Of all that have this mean the variance is the largest where all frames are alike.
  const double variance = others * chance * (1 - chance) + between * both * (1 - both);
  return poisson_binomial(Stage::mark, "chosen to mark", stats.markable, stats.chosen_to_mark,
                          others * chance + between * both + above, std::max(0.0, variance));
}

/// How long the link takes for what left right behind another, ns.
double time_of_busy(const BottleneckConfig& queue, const std::optional<TraceConfig>& trace,
                    const RuleStats& stats) {
  if (!trace) return static_cast<double>(stats.queue.busy_bytes) * 8e9 / queue.rate_bps;
  double time = 0;
  for (std::size_t i = 0; i < stats.rows.size(); ++i)
    time += static_cast<double>(stats.rows[i].busy_bytes) * 8e9 /
            trace->rows[i].rate_bps.value_or(queue.rate_bps);
  return time;
}

/// Behind each other frames leave at the link's rate; the buffer is never fuller than it is.
void audit_queue(const BottleneckConfig& queue, const std::optional<TraceConfig>& trace,
                 const RuleStats& stats, std::vector<Check>& checks) {
  const QueueStats& seen = stats.queue;
  // Departures are whole nanoseconds: each busy period's length is off by two at most.
  const double slack = 2 * static_cast<double>(seen.busy_periods);
  const auto busy = static_cast<double>(seen.busy_ns);
  const double bits = static_cast<double>(seen.busy_bytes) * 8e9;
  if (seen.busy_ns > 0 && busy > slack) {
    const double asked = time_of_busy(queue, trace, stats);
    checks.push_back({Stage::queue, "rate while busy", seen.busy_frames, bits / asked, bits / busy,
                      bits / (asked + slack), bits / std::max(1.0, asked - slack),
                      Figure::bits_per_second});
  }
  checks.push_back({Stage::queue, "fullest buffer", seen.frames,
                    static_cast<double>(queue.buffer_bytes),
                    static_cast<double>(stats.peak_queue_bytes), 0,
                    static_cast<double>(queue.buffer_bytes), Figure::bytes});
}

/// How often one is held back: each frame draws, but for those that overtake one that was.
double share_held(const ReorderConfig& reorder) noexcept {
  if (!reorder.swap) return reorder.fraction;
  return reorder.fraction / (1 + reorder.fraction * reorder.frames);
}

}  // namespace

std::vector<Check> audit(const RuleConfig& config, const RuleStats& stats) {
  std::vector<Check> checks;
  if (config.police && stats.police.frames > 0) audit_police(*config.police, stats.police, checks);
  audit_loss(config.loss, stats, checks);
  if (config.trace) audit_traced_loss(*config.trace, stats, checks);
  const auto chance = [&](Stage stage, std::string_view what, std::uint64_t frames,
                          std::uint64_t hits, double asked) {
    if (frames > 0) checks.push_back(binomial(stage, what, frames, hits, asked));
  };
  if (config.corrupt)
    chance(Stage::corrupt, "corrupted", stats.corruptible, stats.by(Stage::corrupt),
           config.corrupt->probability);
  if (config.duplicate)
    chance(Stage::duplicate, "duplicated", stats.duplicable, stats.by(Stage::duplicate),
           config.duplicate->probability);
  if (config.mark && stats.markable > 0) checks.push_back(audit_mark(*config.mark, stats));
  if (config.queue && stats.queue.frames > 0)
    audit_queue(*config.queue, config.trace, stats, checks);
  if (config.jitter) audit_jitter(*config.jitter, stats, checks);
  if (config.reorder)
    chance(Stage::reorder, "held back", stats.reorderable, stats.by(Stage::reorder),
           share_held(*config.reorder));
  return checks;
}

}  // namespace lw::emulator
