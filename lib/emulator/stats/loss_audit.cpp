// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stats/loss_audit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "emulator/stats/audit.h"

namespace lw::emulator {
namespace {

constexpr std::size_t kStates = LossChain::kStates;
using Matrix = LossChain::Matrix;
using Vector = LossChain::EachState<double>;

void find_reached(LossChain& chain) noexcept {
  chain.reached = {true};
  for (std::size_t round = 1; round < kStates; ++round)
    for (std::size_t i = 0; i < kStates; ++i)
      for (std::size_t j = 0; j < kStates; ++j)
        chain.reached[j] |= chain.reached[i] && chain.step[i][j] > 0;
}

/// Grassmann, Taksar and Heyman, "Regenerative analysis and steady state distributions for Markov
/// chains", 1985: eliminates one state after the other, without subtractions.
std::optional<Vector> equilibrium(const LossChain& chain) noexcept {
  Matrix p = chain.step;
  for (std::size_t n = kStates - 1; n > 0; --n) {
    if (!chain.reached[n]) continue;
    double out = 0;
    for (std::size_t j = 0; j < n; ++j) out += p[n][j];
    if (out <= 0) return std::nullopt;
    for (std::size_t i = 0; i < n; ++i) {
      p[i][n] /= out;
      for (std::size_t j = 0; j < n; ++j) p[i][j] += p[i][n] * p[n][j];
    }
  }
  Vector share{1};
  double all = 1;
  for (std::size_t n = 1; n < kStates; ++n) {
    for (std::size_t i = 0; i < n && chain.reached[n]; ++i) share[n] += share[i] * p[i][n];
    all += share[n];
  }
  for (double& each : share) each /= all;
  return share;
}

/// Numbers with a common power of two, so that powers of matrices neither overflow nor underflow.
template <class Numbers>
struct Scaled {
  Numbers numbers;
  double exponent = 0;

  void rescale(double largest) noexcept {
    const int by = std::ilogb(largest);
    exponent += by;
    const double factor = std::ldexp(1.0, -by);
    if constexpr (requires { numbers[0][0]; }) {
      for (auto& row : numbers)
        for (double& number : row) number *= factor;
    } else {
      for (double& number : numbers) number *= factor;
    }
  }
};

double largest_of(const Vector& vector) noexcept { return *std::ranges::max_element(vector); }
double largest_of(const Matrix& matrix) noexcept {
  double largest = 0;
  for (const Vector& row : matrix) largest = std::max(largest, largest_of(row));
  return largest;
}

void multiply(const Scaled<Matrix>& by, Scaled<Vector>& vector) noexcept {
  Vector product{};
  for (std::size_t i = 0; i < kStates; ++i)
    for (std::size_t j = 0; j < kStates; ++j) product[i] += by.numbers[i][j] * vector.numbers[j];
  vector = {product, vector.exponent + by.exponent};
  vector.rescale(largest_of(product));
}

void square(Scaled<Matrix>& matrix) noexcept {
  Matrix product{};
  for (std::size_t i = 0; i < kStates; ++i)
    for (std::size_t k = 0; k < kStates; ++k)
      for (std::size_t j = 0; j < kStates; ++j)
        product[i][j] += matrix.numbers[i][k] * matrix.numbers[k][j];
  matrix = {product, 2 * matrix.exponent};
  matrix.rescale(largest_of(product));
}

/// Moments of a sum over frames: a lost frame adds one, and subtracts `of_burst` if it begins a
/// burst.
class BurstSum {
 public:
  BurstSum(const LossChain& chain, std::uint64_t frames, double of_burst) noexcept
      : chain_(chain), frames_(frames), of_burst_(of_burst) {}

  /// ln E[exp(theta x sum)], the largest over all first states.
  [[nodiscard]] double log_moment(double theta) const noexcept {
    const double in_burst = std::exp(theta), begins = std::exp(theta * (1 - of_burst_));
    if (!std::isnormal(in_burst) || !std::isnormal(begins))
      return std::numeric_limits<double>::infinity();
    Matrix tilted = chain_.step, first = chain_.first;
    for (std::size_t i = 0; i < kStates; ++i) {
      for (std::size_t j = 0; j < kStates; ++j) {
        if (!chain_.lost[j]) continue;
        tilted[i][j] *= chain_.lost[i] ? in_burst : begins;
        first[i][j] *= begins;
      }
    }
    // States that are never reached must not dominate the common power of two.
    for (std::size_t i = 0; i < kStates; ++i)
      if (!chain_.reached[i]) first[i] = tilted[i] = {};
    Scaled<Vector> result{{1, 1, 1, 1}};
    Scaled<Matrix> power{tilted};
    for (std::uint64_t left = frames_ - 1; left > 0; left >>= 1) {
      if (left & 1) multiply(power, result);
      if (left > 1) square(power);
    }
    multiply({first}, result);
    return std::log(largest_of(result.numbers)) + result.exponent * std::numbers::ln2;
  }

  /// The value that the sum (times `sign`) exceeds in one of 2 x 10^5 runs. Any theta > 0 gives a
  /// bound; golden section search finds the least one, as the function has one minimum.
  [[nodiscard]] double most(double sign) const noexcept {
    constexpr int kSteps = 12;
    const auto bound = [&](double log_theta) {
      const double theta = std::exp(log_theta);
      return (log_moment(sign * theta) + kUnlikely) / theta;
    };
    // The largest possible deviation of the sum; a smaller theta gives no better bound.
    const double widest = static_cast<double>(frames_) * std::max(1.0, of_burst_);
    double low = -std::log(widest), high = std::log(64);
    const double part = 1 / std::numbers::phi;
    double left = high - part * (high - low), right = low + part * (high - low);
    double at_left = bound(left), at_right = bound(right);
    for (int i = 0; i < kSteps; ++i) {
      if (at_right < at_left) {
        low = left;
        left = right, at_left = at_right;
        right = low + part * (high - low);
        at_right = bound(right);
      } else {  // also where both are infinite
        high = right;
        right = left, at_right = at_left;
        left = high - part * (high - low);
        at_left = bound(left);
      }
    }
    return std::min(at_left, at_right);
  }

 private:
  const LossChain& chain_;
  std::uint64_t frames_;
  double of_burst_;
};

}  // namespace

/// Four states: each of the model's two, with an arrived frame and with a lost frame.
LossChain chain_of(const GilbertElliott& m) noexcept {
  LossChain chain{.lost = {false, true, false, true}};
  for (std::size_t i = 0; i < kStates; ++i) {
    const double to_bad = i < 2 ? m.p : 1 - m.r;
    chain.step[i] = {(1 - to_bad) * (1 - m.good_loss), (1 - to_bad) * m.good_loss,
                     to_bad * (1 - m.bad_loss), to_bad * m.bad_loss};
  }
  // The loss of a frame depends on the state before the step.
  chain.first[0] = chain.first[1] = {1 - m.good_loss, m.good_loss, 0, 0};
  chain.first[2] = chain.first[3] = {0, 0, 1 - m.bad_loss, m.bad_loss};
  find_reached(chain);
  return chain;
}

/// Arrives in a gap, arrives in a burst, lost in a burst, lost in a gap: netem's 1 to 4.
LossChain chain_of(const FourState& m) noexcept {
  LossChain chain{.lost = {false, false, true, true}};
  const double p13 = std::min(m.p13, 1 - m.p14), p31 = std::min(m.p31, 1 - m.p32);
  chain.step[0] = {std::max(0.0, 1 - p13 - m.p14), 0, p13, m.p14};
  chain.step[1] = {0, 1 - m.p23, m.p23, 0};
  chain.step[2] = {p31, m.p32, std::max(0.0, 1 - p31 - m.p32), 0};
  chain.step[3] = {1, 0, 0, 0};
  chain.first = chain.step;
  find_reached(chain);
  return chain;
}

std::optional<double> mean_burst(const LossChain& chain) noexcept {
  const auto share = equilibrium(chain);
  if (!share) return std::nullopt;
  double lost = 0, begun = 0;
  for (std::size_t j = 0; j < kStates; ++j) {
    if (!chain.lost[j]) continue;
    lost += (*share)[j];
    for (std::size_t i = 0; i < kStates; ++i)
      if (!chain.lost[i]) begun += (*share)[i] * chain.step[i][j];
  }
  if (begun <= 0) return std::nullopt;
  return lost / begun;
}

LikelyRange likely_losses(const LossChain& chain, std::uint64_t frames, double of_burst) noexcept {
  const BurstSum moments(chain, frames, of_burst);
  return {-moments.most(-1), moments.most(1)};
}

namespace {

/// A check that requires an exact number.
Check exact(std::uint64_t frames, std::uint64_t hits, std::uint64_t asked) {
  const auto n = static_cast<double>(frames);
  const double expected = static_cast<double>(asked) / n;
  return {Stage::loss, "lost", frames, expected, static_cast<double>(hits) / n, expected, expected};
}

/// The number of runs of `from` or more lost frames that have ended.
std::uint64_t runs_of(const LossStats& loss, std::size_t from) noexcept {
  return std::accumulate(loss.runs.begin() + static_cast<std::ptrdiff_t>(from - 1), loss.runs.end(),
                         std::uint64_t{0});
}

/// Visits a loss model and appends the checks that apply to it.
struct LossAudit {
  const RuleStats& stats;
  const LossStats& seen;
  std::vector<Check>& checks;

  void operator()(double probability) const {
    checks.push_back(binomial(Stage::loss, "lost", seen.frames, seen.lost, probability));
  }
  void operator()(const CorrelatedLosses& m) const {
    checks.push_back(
        correlated(Stage::loss, "lost", seen.frames, seen.lost, m.probability, m.correlation));
  }
  /// Losses in one state only: a burst lasts while the model is in that state and drops frames.
  void operator()(const GilbertElliott& m) const {
    states(chain_of(m), expected_loss(m, 0));
    if (m.good_loss == 0) geometric_runs(1 - (1 - m.r) * m.bad_loss, 1);
  }
  /// A loss in a gap is single; a longer run of losses is part of a burst.
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
  /// Each frame has the loss probability of its length, a concave function. Within a group of
  /// similar lengths, the probability of the mean length is an upper bound, and the straight line
  /// from the shortest to the longest length is a lower bound.
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
    // Lost frames, less the mean length for each burst.
    const auto bursts = static_cast<double>(begun);
    const LikelyRange excess = likely_losses(chain, seen.frames, *mean);
    checks.push_back({Stage::loss, "mean burst", begun, *mean,
                      static_cast<double>(seen.lost) / bursts, *mean + excess.low / bursts,
                      *mean + excess.high / bursts, CheckUnit::frames, bursts});
  }

  /// A run of losses is a burst, followed directly by further bursts with the model's probability.
  void burst_lengths(const Bursts& m) const {
    const std::uint64_t runs = runs_of(seen, 1);
    if (runs < kFewestDraws) return;
    std::array<double, LossStats::kRuns> shares{};
    double longer = 1;
    for (std::size_t length = 1; length < LossStats::kRuns; ++length) {
      double& share = shares[length - 1];
      for (std::size_t last = m.shortest; last <= std::min<std::size_t>(length, m.longest); ++last)
        share += m.share_of(last) *
                 (last == length ? 1 - m.probability : m.probability * shares[length - last - 1]);
      longer -= share;
    }
    shares.back() = std::max(0.0, longer);
    Check check = chi_square(Stage::loss, "bursts' lengths", seen.runs, shares);
    // Pearson's test joins unlikely lengths with their neighbours; impossible lengths need a check.
    const std::size_t shortest = std::min<std::size_t>(m.shortest, LossStats::kRuns);
    check.seen += static_cast<double>((runs - runs_of(seen, shortest)) * runs);
    checks.push_back(check);
  }

  /// Runs of `from` or more frames end with this probability at each further frame.
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
