// SPDX-License-Identifier: BSD-3-Clause
#include "path/audit.h"

#include <cmath>
#include <optional>

namespace lw::path {
namespace {

// Of a normal variable 7 in 10^6 lie further out.
constexpr double kDeviations = 4.5;
// A mean of fewer draws isn't normal yet where the distribution is skewed.
constexpr std::uint64_t kFewestDraws = 1000;

/// A share of `frames` whose count has this variance, each event counting up to `most`
/// (Bernstein's bound, which holds for few events, too).
Check share(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
            double asked, double variance, double most = 1) {
  const auto n = static_cast<double>(frames);
  const double bound =
      (kDeviations * std::sqrt(variance) + kDeviations * kDeviations * most / 3) / n;
  return {stage, what, frames, asked, static_cast<double>(hits) / n, asked - bound, asked + bound};
}

Check binomial(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
               double asked) {
  const double variance = static_cast<double>(frames) * asked * (1 - asked);
  return share(stage, what, frames, hits, asked, variance);
}

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
  // How much these two may be off depends on more than their parameters.
  void operator()(const FourState& /*m*/) const {}
  void operator()(const BitErrors& /*m*/) const {}

  /// Runs end with this probability at each step: mean 1 / ends, deviation sqrt(1 - ends) / ends.
  void geometric_runs(double ends) const {
    const std::uint64_t runs = runs_of(seen);
    if (runs < kFewestDraws) return;
    const auto n = static_cast<double>(runs);
    const double bound = kDeviations * std::sqrt((1 - ends) / n) / ends;
    // A run that is still on has not ended.
    const auto ended = static_cast<double>(seen.lost - seen.run);
    checks.push_back(
        {Stage::loss, "mean burst", runs, 1 / ends, ended / n, 1 / ends - bound, 1 / ends + bound});
  }
};

std::optional<Check> jitter_mean(const JitterConfig& jitter, const DrawStats& seen) {
  const double mean = mean_of(jitter.distribution), deviation = deviation_of(jitter.distribution);
  if (jitter.half_life || seen.count < kFewestDraws || !std::isfinite(deviation))
    return std::nullopt;
  const double bound = kDeviations * deviation / std::sqrt(static_cast<double>(seen.count));
  // The sampler's tables are good to some 10^-5.
  const double slack = 1e-4 * deviation;
  return Check{Stage::delay, "mean jitter",        seen.count,          mean,
               seen.mean,    mean - bound - slack, mean + bound + slack};
}

}  // namespace

std::vector<Check> audit(const RuleConfig& config, const RuleStats& stats) {
  std::vector<Check> checks;
  if (loses(config.loss) && !config.trace && stats.loss.frames > 0)
    std::visit(LossAudit{stats.loss, checks}, config.loss);
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
  if (config.mark && !config.mark->red)
    chance(Stage::mark, "chosen to mark", stats.markable, stats.chosen_to_mark,
           config.mark->probability);
  if (config.jitter)
    if (const auto mean = jitter_mean(*config.jitter, stats.jitter)) checks.push_back(*mean);
  if (config.reorder && !config.reorder->swap)
    chance(Stage::reorder, "held back", stats.reorderable, stats.by(Stage::reorder),
           config.reorder->fraction);
  return checks;
}

}  // namespace lw::path
