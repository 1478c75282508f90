// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <numeric>

#include "emulator/stats/audit_stages.h"
#include "emulator/stats/loss_chain.h"

namespace lw::emulator {
namespace {

/// Exactly so many.
Check exact(std::uint64_t frames, std::uint64_t hits, std::uint64_t asked) {
  const auto n = static_cast<double>(frames);
  const double expected = static_cast<double>(asked) / n;
  return {Stage::loss, "lost", frames, expected, static_cast<double>(hits) / n, expected, expected};
}

/// How many of them ended, of `from` frames and more.
std::uint64_t runs_of(const LossStats& loss, std::size_t from) noexcept {
  return std::accumulate(loss.runs.begin() + static_cast<std::ptrdiff_t>(from - 1), loss.runs.end(),
                         std::uint64_t{0});
}

/// What losses a model must have made of these frames; appends what can be said.
struct LossAudit {
  const RuleStats& stats;
  const LossStats& seen;
  std::vector<Check>& checks;

  void operator()(double probability) const {
    checks.push_back(binomial(Stage::loss, "lost", seen.frames, seen.lost, probability));
  }
  /// Losses in one state only: a burst goes on as long as it is there and loses.
  void operator()(const GilbertElliott& m) const {
    states(chain_of(m), expected_loss(m, 0));
    if (m.good_loss == 0) geometric_runs(1 - (1 - m.r) * m.bad_loss, 1);
  }
  /// Losses in a gap stand alone; what is longer was lost within a burst.
  void operator()(const FourState& m) const {
    states(chain_of(m), expected_loss(m, 0));
    if (m.p13 > 0) geometric_runs(std::min(1.0, m.p31 + m.p32), m.p14 > 0 ? 2 : 1);
  }
  /// Bursts are a renewal process: each adds its own length.
  void operator()(const Bursts& m) const {
    const double asked = expected_loss(m, 0);
    const double most = m.longest;
    const double bursts = static_cast<double>(seen.frames) * m.probability;
    checks.push_back(
        share(Stage::loss, "lost", seen.frames, seen.lost, asked, bursts * most * most, most));
    burst_lengths(m);
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
  /// Each frame has its length's own probability, which rises ever less with the length: that of
  /// the mean of like lengths is too much, if anything, and what lies on the line from the shortest
  /// to the longest of them too little.
  void operator()(const BitErrors& m) const {
    constexpr std::uint32_t kStep = RuleStats::kLengthStep;
    double least = 0, most = 0;
    for (std::uint32_t i = 0; i < RuleStats::kLengths; ++i) {
      const LengthStats& alike = stats.lengths[i];
      if (alike.frames == 0) continue;
      const auto frames = static_cast<double>(alike.frames);
      const double mean = static_cast<double>(alike.bytes) / frames;
      const double shortest = expected_loss(m, kStep * i);
      const double rise =
          i + 1 < RuleStats::kLengths ? expected_loss(m, kStep * i + kStep - 1) - shortest : 0;
      most += frames * expected_loss(m, static_cast<std::uint32_t>(std::ceil(mean)));
      least += frames * (shortest + rise * (mean - kStep * i) / (kStep - 1));
    }
    Check check = poisson_binomial(Stage::loss, "lost", seen.frames, seen.lost, most, most);
    check.low -= (most - least) / static_cast<double>(seen.frames);
    checks.push_back(check);
  }
  void states(const LossChain& chain, double asked) const {
    const auto frames = static_cast<double>(seen.frames);
    const LikelyRange lost = likely_losses(chain, seen.frames, 0);
    checks.push_back({Stage::loss, "lost", seen.frames, asked,
                      static_cast<double>(seen.lost) / frames, lost.low / frames,
                      lost.high / frames});
    const std::uint64_t begun = runs_of(seen, 1) + (seen.run > 0 ? 1 : 0);
    const auto mean = mean_burst(chain);
    if (!mean || begun < kFewestDraws) return;
    // Frames lost in excess of so many for each burst.
    const auto bursts = static_cast<double>(begun);
    const LikelyRange excess = likely_losses(chain, seen.frames, *mean);
    checks.push_back({Stage::loss, "mean burst", begun, *mean,
                      static_cast<double>(seen.lost) / bursts, *mean + excess.low / bursts,
                      *mean + excess.high / bursts, Figure::frames});
  }

  /// A run is a burst, and with the model's probability another one right behind it, and so on.
  void burst_lengths(const Bursts& m) const {
    const std::uint64_t runs = runs_of(seen, 1);
    if (runs < kFewestDraws) return;
    const double each = 1.0 / (m.longest - m.shortest + 1);
    std::array<double, LossStats::kRuns> shares{};
    double longer = 1;
    for (std::size_t length = 1; length < LossStats::kRuns; ++length) {
      double& share = shares[length - 1];
      for (std::size_t last = m.shortest; last <= std::min<std::size_t>(length, m.longest); ++last)
        share +=
            each * (last == length ? 1 - m.probability : m.probability * shares[length - last - 1]);
      longer -= share;
    }
    shares.back() = std::max(0.0, longer);
    Check check = chi_square(Stage::loss, "bursts' lengths", seen.runs, shares);
    // Pearson's sum takes unlikely lengths together with their neighbours; these can't be at all.
    const std::size_t shortest = std::min<std::size_t>(m.shortest, LossStats::kRuns);
    check.seen += static_cast<double>((runs - runs_of(seen, shortest)) * runs);
    checks.push_back(check);
  }

  /// Runs of `from` frames and more end with this probability at each further step.
  void geometric_runs(double ends, std::size_t from) const {
    if (runs_of(seen, from) < kFewestDraws) return;
    std::array<double, LossStats::kRuns> shares;
    double longer = 1;
    for (double& share : shares) {
      share = longer * ends;
      longer -= share;
    }
    const std::size_t lengths = LossStats::kRuns - (from - 1);
    shares[lengths - 1] = std::pow(1 - ends, static_cast<double>(lengths - 1));
    checks.push_back(chi_square(Stage::loss, "bursts' lengths", std::span(seen.runs).last(lengths),
                                std::span(shares).first(lengths)));
  }
};

}  // namespace

void audit_loss(const LossConfig& config, const RuleStats& stats, std::vector<Check>& checks) {
  if (loses(config) && stats.loss.frames > 0)
    std::visit(LossAudit{stats, stats.loss, checks}, config);
}

void audit_traced_loss(const TraceConfig& trace, const RuleStats& stats,
                       std::vector<Check>& checks) {
  double expected = 0, variance = 0;
  for (std::size_t i = 0; i < stats.rows.size(); ++i) {
    const auto frames = static_cast<double>(stats.rows[i].frames);
    const double loss = trace.rows[i].loss.value_or(0);
    expected += frames * loss;
    variance += frames * loss * (1 - loss);
  }
  if (stats.traced.frames > 0)
    checks.push_back(poisson_binomial(Stage::loss, "lost by the trace", stats.traced.frames,
                                      stats.traced.lost, expected, variance));
}

}  // namespace lw::emulator
