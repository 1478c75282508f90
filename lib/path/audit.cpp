// SPDX-License-Identifier: BSD-3-Clause
#include "path/audit.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "path/audit_checks.h"
#include "path/fit.h"

namespace lw::path {
namespace {

// A mean of fewer draws isn't normal yet where the distribution is skewed.
constexpr std::uint64_t kFewestDraws = 1000;

/// Exactly so many.
Check exact(std::uint64_t frames, std::uint64_t hits, std::uint64_t asked) {
  const auto n = static_cast<double>(frames);
  const double expected = static_cast<double>(asked) / n;
  return {Stage::loss, "lost", frames, expected, static_cast<double>(hits) / n, expected, expected};
}

std::uint64_t runs_of(const LossStats& loss) noexcept {
  std::uint64_t runs = 0;
  for (const std::uint64_t count : loss.runs) runs += count;
  return runs;
}

/// What losses a model must have made of these frames; appends what can be said.
struct LossAudit {
  const RuleStats& stats;
  const LossStats& seen;
  std::vector<Check>& checks;

  void operator()(double probability) const {
    checks.push_back(binomial(Stage::loss, "lost", seen.frames, seen.lost, probability));
  }
  /// Neighbours are correlated by c = 1 - p - r: the count's variance is (1 + c) / (1 - c) times
  /// the binomial's.
  void operator()(const GilbertElliott& m) const {
    const double asked = expected_loss(m, 0);
    const double stay = 1 - m.p - m.r;
    const double wider = std::max(1.0, (1 + stay) / (1 - stay));
    const double variance = static_cast<double>(seen.frames) * asked * (1 - asked) * wider;
    checks.push_back(share(Stage::loss, "lost", seen.frames, seen.lost, asked, variance, wider));
    if (m.bad_loss == 1 && m.good_loss == 0 && m.r > 0) geometric_runs(m.r);
  }
  /// Bursts are a renewal process: each adds its own length.
  void operator()(const Bursts& m) const {
    const double asked = expected_loss(m, 0);
    const double most = m.longest;
    const double bursts = static_cast<double>(seen.frames) * m.probability;
    checks.push_back(
        share(Stage::loss, "lost", seen.frames, seen.lost, asked, bursts * most * most, most));
  }
  void operator()(const EveryNth& m) const {
    checks.push_back(exact(seen.frames, seen.lost, seen.frames / m.n));
  }
  void operator()(const BitPattern& m) const {
    std::uint64_t a_round = 0, rest = 0;
    const std::uint64_t length = m.lost.size();
    for (std::uint64_t i = 0; i < length; ++i) {
      a_round += m.lost[i] ? 1U : 0U;
      rest += m.lost[i] && i < seen.frames % length ? 1U : 0U;
    }
    checks.push_back(exact(seen.frames, seen.lost, seen.frames / length * a_round + rest));
  }
  void operator()(const ListedFrames& m) const {
    std::uint64_t asked = 0;
    for (const std::uint64_t frame : m.frames) asked += frame < seen.frames ? 1U : 0U;
    checks.push_back(exact(seen.frames, seen.lost, asked));
  }
  /// Each frame has its length's own probability, known as well as the lengths are.
  void operator()(const BitErrors& m) const {
    double least = 0, most = 0;
    for (std::uint32_t i = 0; i < RuleStats::kLengths; ++i) {
      const auto frames = static_cast<double>(stats.lengths[i]);
      least += frames * expected_loss(m, 64 * i);
      most += frames * (i + 1 < RuleStats::kLengths ? expected_loss(m, 64 * i + 63) : 1);
    }
    Check check = poisson_binomial(Stage::loss, "lost", seen.frames, seen.lost, most, most);
    check.low -= (most - least) / static_cast<double>(seen.frames);
    checks.push_back(check);
  }
  // How much this one may be off depends on more than its parameters.
  void operator()(const FourState& /*m*/) const {}

  /// Runs end with this probability at each step: mean 1 / ends, deviation sqrt(1 - ends) / ends.
  void geometric_runs(double ends) const {
    const std::uint64_t runs = runs_of(seen);
    if (runs < kFewestDraws) return;
    const auto n = static_cast<double>(runs);
    const double bound = kDeviations * std::sqrt((1 - ends) / n) / ends;
    // A run that is still on has not ended.
    const auto ended = static_cast<double>(seen.lost - seen.run);
    checks.push_back({Stage::loss, "mean burst", runs, 1 / ends, ended / n, 1 / ends - bound,
                      1 / ends + bound, Figure::frames});
    std::array<double, LossStats::kRuns> shares;
    double longer = 1;
    for (double& share : shares) {
      share = longer * ends;
      longer -= share;
    }
    shares.back() += longer;
    checks.push_back(chi_square(Stage::loss, "bursts' lengths", seen.runs, shares));
  }
};

std::optional<Check> jitter_mean(const JitterConfig& jitter, const DrawStats& seen) {
  const double mean = mean_of(jitter.distribution), deviation = deviation_of(jitter.distribution);
  if (jitter.half_life || seen.count < kFewestDraws || !std::isfinite(deviation))
    return std::nullopt;
  const double bound = kDeviations * deviation / std::sqrt(static_cast<double>(seen.count));
  // The sampler's tables are good to some 10^-5.
  const double slack = 1e-4 * deviation;
  return Check{Stage::delay, "mean jitter",        seen.count,           mean,
               seen.mean(),  mean - bound - slack, mean + bound + slack, Figure::nanoseconds};
}

void audit_jitter(const JitterConfig& jitter, const RuleStats& stats, std::vector<Check>& checks) {
  if (const auto mean = jitter_mean(jitter, stats.jitter)) checks.push_back(*mean);
  std::uint64_t sampled = 0;
  for (const std::uint64_t count : stats.fit) sampled += count;
  if (jitter.half_life || sampled < kFewestDraws) return;
  const auto expected = FitBins(jitter.distribution).probabilities(jitter.distribution);
  checks.push_back(chi_square(Stage::delay, "jitter's distribution", stats.fit, expected));
}

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

/// Behind each other frames leave at the link's rate; the buffer is never fuller than it is.
void audit_queue(const BottleneckConfig& queue, const RuleStats& stats,
                 std::vector<Check>& checks) {
  const QueueStats& seen = stats.queue;
  // Departures are whole nanoseconds: each busy period's length is off by two at most.
  const double slack = 2 * static_cast<double>(seen.busy_periods);
  const auto busy = static_cast<double>(seen.busy_ns);
  const double bits = static_cast<double>(seen.busy_bytes) * 8e9;
  if (seen.busy_ns > 0 && busy > slack)
    checks.push_back({Stage::queue, "rate while busy", seen.busy_frames, queue.rate_bps,
                      bits / busy, bits / (bits / queue.rate_bps + slack),
                      bits / std::max(1.0, bits / queue.rate_bps - slack),
                      Figure::bits_per_second});
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
  if (loses(config.loss) && !config.trace && stats.loss.frames > 0)
    std::visit(LossAudit{stats, stats.loss, checks}, config.loss);
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
  if (config.queue && !config.trace && stats.queue.frames > 0)
    audit_queue(*config.queue, stats, checks);
  if (config.jitter) audit_jitter(*config.jitter, stats, checks);
  if (config.reorder)
    chance(Stage::reorder, "held back", stats.reorderable, stats.by(Stage::reorder),
           share_held(*config.reorder));
  return checks;
}

}  // namespace lw::path
